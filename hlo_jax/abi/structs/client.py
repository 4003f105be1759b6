"""The client: programs to compile, arrays to take in."""

from hlo_jax.abi.members import Address, Args, Int, Int64, Size, struct


@struct
class ClientCreate(Args):
    """Make the client: the whole of a plugin's state."""

    create_options: Address  # NamedValue[num_options]
    num_options: Size
    kv_get_callback: Address
    kv_get_user_arg: Address
    kv_put_callback: Address
    kv_put_user_arg: Address
    # results
    client: Address
    # arguments that came later
    kv_try_get_callback: Address
    kv_try_get_user_arg: Address


@struct
class ClientDestroy(Args):
    """Free the client."""

    client: Address


@struct
class ClientProcessIndex(Args):
    """The index of this process among several."""

    client: Address
    # results
    process_index: Int


@struct
class ClientUpdateGlobalProcessInfo(Args):
    """News of the other processes: which are there, and which have failed."""

    client: Address
    process_infos: Address  # PJRT_ProcessInfo[num_process_infos]
    num_process_infos: Size


@struct
class ClientDevices(Args):
    """All devices, those of other processes too."""

    client: Address
    # results
    devices: Address  # PJRT_Device*[num_devices]
    num_devices: Size


@struct
class ClientLookupDevice(Args):
    """A device by its number."""

    client: Address
    id: Int
    # results
    device: Address


@struct
class ClientAddressableMemories(Args):
    """The memories of this process."""

    client: Address
    # results
    addressable_memories: Address
    num_addressable_memories: Size


@struct
class PjrtProgram(Args):
    """A program, in one of several formats."""

    code: Address
    code_size: Size
    format: Address  # "mlir", "hlo", "hlo_with_config"
    format_size: Size


@struct
class ClientCompile(Args):
    """A program to an executable, loaded."""

    client: Address
    program: Address
    compile_options: Address  # a serialized CompileOptionsProto
    compile_options_size: Size
    # results
    executable: Address


@struct
class ClientDefaultDeviceAssignment(Args):
    """The default device of each replica and partition."""

    client: Address
    num_replicas: Int
    num_partitions: Int
    default_assignment_size: Size
    default_assignment: Address  # int[default_assignment_size], to be written


@struct
class ClientBufferFromHostBuffer(Args):
    """An array of the host to a buffer."""

    client: Address
    data: Address
    type: Int
    dims: Address  # int64[num_dims]
    num_dims: Size
    byte_strides: Address  # int64[num_byte_strides]; 0 where the array is row-major
    num_byte_strides: Size
    host_buffer_semantics: Int
    device: Address
    memory: Address  # 0: the device's default memory
    device_layout: Address  # PJRT_Buffer_MemoryLayout*; 0: the default layout
    # results
    done_with_host_buffer: Address
    buffer: Address


@struct
class ClientCreateViewOfDeviceBuffer(Args):
    """A buffer in memory that somebody else owns."""

    client: Address
    device_buffer_ptr: Address
    dims: Address
    num_dims: Size
    element_type: Int
    layout: Address
    device: Address
    on_delete_callback: Address  # void(void* device_buffer_ptr, void* user_arg)
    on_delete_callback_arg: Address
    stream: Int64
    # results
    buffer: Address
    # an argument that came later
    memory: Address


@struct
class ClientCreateUninitializedBuffer(Args):
    """A buffer that nothing is known of but its shape."""

    client: Address
    shape_dims: Address
    shape_num_dims: Size
    shape_element_type: Int
    shape_layout: Address
    device: Address
    memory: Address
    # results
    buffer: Address


@struct
class ClientTopologyDescription(Args):
    """The devices as far as they are known without a client."""

    client: Address
    # results
    topology: Address
