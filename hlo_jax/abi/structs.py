"""The structs of the functions that PyHLO answers: their arguments and, below a comment, results.

The names are those of the header: `BufferDimensions` is `PJRT_Buffer_Dimensions_Args`. Only
`struct_size` and `extension_start`, with which each of them begins, are left out.

Source: openxla/xla, `xla/pjrt/c/pjrt_c_api.h`, version 0.114.
"""

from hlo_jax.abi.members import Address, Args, Bool, Int, Int64, Record, Size, struct

# fmt: off

# ------------------------------------------------------------------------------------ texts

@struct
class Text(Args):
    """A text about something: its name, its kind, its version, itself, briefly or at length."""

    of: Address
    # results
    text: Address
    text_size: Size


# ------------------------------------------------------------------------------------- errors

@struct
class ErrorDestroy(Args):
    """Free an error."""

    error: Address


@struct
class ErrorMessage(Args):
    """The text of an error, which lives as long as the error."""

    error: Address
    # results
    message: Address
    message_size: Size


@struct
class ErrorGetCode(Args):
    """The code of an error."""

    error: Address
    # results
    code: Int


@struct
class ErrorForEachPayload(Args):
    """Tell a visitor what else an error carries."""

    error: Address
    visitor: Address  # void(const char* key, size_t, const char* value, size_t, void* user_arg)
    user_arg: Address


# ------------------------------------------------------------------------------------- plugin

@struct
class PluginInitialize(Args):
    """Called once, before anything else."""


@struct
class PluginAttributes(Args):
    """What there is to know of the plugin."""

    # results
    attributes: Address  # NamedValue[num_attributes]
    num_attributes: Size


@struct
class NamedValue(Args):
    """A name and a value."""

    name: Address
    name_size: Size
    type: Int
    value: Address  # a union: char*, int64, int64*, float or bool
    value_size: Size  # elements of a list, characters of a string, else 1


# ------------------------------------------------------------------------------------- events

@struct
class EventDestroy(Args):
    """Free an event."""

    event: Address


@struct
class EventIsReady(Args):
    """Whether what the event stands for has happened."""

    event: Address
    # results
    is_ready: Bool


@struct
class EventError(Args):
    """What went wrong: the error is the function's result."""

    event: Address


@struct
class EventAwait(Args):
    """Wait for the event."""

    event: Address


@struct
class EventOnReady(Args):
    """Call a function once the event is ready."""

    event: Address
    callback: Address  # void(PJRT_Error*, void* user_arg)
    user_arg: Address


# ------------------------------------------------------------------------------------- client

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
    """Which of several processes this is."""

    client: Address
    # results
    process_index: Int


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
class Program(Args):
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
    """Which device each replica and partition gets unless something else is said."""

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


# ----------------------------------------------------------------------- devices and memories

@struct
class DeviceDescriptionId(Args):
    """A device's number among all devices of all processes."""

    device_description: Address
    # results
    id: Int


@struct
class DeviceDescriptionProcessIndex(Args):
    """The process that has the device."""

    device_description: Address
    # results
    process_index: Int


@struct
class DeviceDescriptionAttributes(Args):
    """What there is to know of a device."""

    device_description: Address
    # results
    num_attributes: Size
    attributes: Address


@struct
class DeviceGetDescription(Args):
    """The description of a device."""

    device: Address
    # results
    device_description: Address


@struct
class DeviceIsAddressable(Args):
    """Whether the device is this process's."""

    device: Address
    # results
    is_addressable: Bool


@struct
class DeviceLocalHardwareId(Args):
    """A device's number in this process."""

    device: Address
    # results
    local_hardware_id: Int


@struct
class DeviceAddressableMemories(Args):
    """The memories of a device."""

    device: Address
    # results
    memories: Address
    num_memories: Size


@struct
class DeviceDefaultMemory(Args):
    """Where a device's arrays lie unless something else is said."""

    device: Address
    # results
    memory: Address


@struct
class DeviceMemoryStats(Args):
    """How much memory a device's arrays take. What is not set is not known."""

    device: Address
    # results
    bytes_in_use: Int64
    peak_bytes_in_use: Int64
    peak_bytes_in_use_is_set: Bool
    num_allocs: Int64
    num_allocs_is_set: Bool
    largest_alloc_size: Int64
    largest_alloc_size_is_set: Bool
    bytes_limit: Int64
    bytes_limit_is_set: Bool
    bytes_reserved: Int64
    bytes_reserved_is_set: Bool
    peak_bytes_reserved: Int64
    peak_bytes_reserved_is_set: Bool
    bytes_reservable_limit: Int64
    bytes_reservable_limit_is_set: Bool
    largest_free_block_bytes: Int64
    largest_free_block_bytes_is_set: Bool
    pool_bytes: Int64
    pool_bytes_is_set: Bool
    peak_pool_bytes: Int64
    peak_pool_bytes_is_set: Bool
    # results that came later
    peak_allocated_bytes: Int64
    peak_allocated_bytes_is_set: Bool


@struct
class DeviceGetAttributes(Args):
    """What there is to know of a device, in memory that the caller frees."""

    device: Address
    # results
    attributes: Address  # NamedValue[num_attributes]
    num_attributes: Size
    device_attributes: Address
    attributes_deleter: Address  # void(PJRT_Device_Attributes*)


@struct
class MemoryNumber(Args):
    """A number of a memory: its own, or that of its kind."""

    memory: Address
    # results
    number: Int


@struct
class MemoryAddressableByDevices(Args):
    """The devices that can use a memory."""

    memory: Address
    # results
    devices: Address
    num_devices: Size


@struct
class TopologySerialize(Args):
    """A topology as bytes."""

    topology: Address
    # results
    serialized_bytes: Address
    serialized_bytes_size: Size
    serialized_topology: Address
    serialized_topology_deleter: Address


@struct
class TopologyAttributes(Args):
    """What there is to know of a topology."""

    topology: Address
    # results
    attributes: Address
    num_attributes: Size


# -------------------------------------------------------------------------------- executables

@struct
class ExecutableDestroy(Args):
    """Let go of an executable, loaded or not."""

    executable: Address


@struct
class ExecutableNumber(Args):
    """A number of an executable: of replicas, partitions, outputs, or bytes of code."""

    executable: Address
    # results
    number: Size


@struct
class ExecutableGetCostAnalysis(Args):
    """What an executable will take, in operations and bytes."""

    executable: Address
    # results
    num_properties: Size
    properties: Address  # NamedValue[num_properties]


@struct
class ExecutableOutputMemoryKinds(Args):
    """In what kind of memory each output lies."""

    executable: Address
    # results
    num_outputs: Size
    memory_kinds: Address  # char*[num_outputs]
    memory_kind_sizes: Address  # size_t[num_outputs]


@struct
class ExecutableOutputElementTypes(Args):
    """The element type of each output."""

    executable: Address
    # results
    output_types: Address  # PJRT_Buffer_Type[num_output_types]
    num_output_types: Size


@struct
class ExecutableOutputDimensions(Args):
    """The dimensions of all outputs, one after the other."""

    executable: Address
    # results
    num_outputs: Size
    dims: Address  # int64[sum of dim_sizes]
    dim_sizes: Address  # size_t[num_outputs]


@struct
class ExecutableOptimizedProgram(Args):
    """What became of the program. Asked twice: for the size, then with memory for the code."""

    executable: Address
    # filled in
    program: Address


@struct
class ExecutableGetCompiledMemoryStats(Args):
    """The bytes that a call takes, on the device and on the host."""

    executable: Address
    # results
    generated_code_size_in_bytes: Int64
    argument_size_in_bytes: Int64
    output_size_in_bytes: Int64
    alias_size_in_bytes: Int64
    temp_size_in_bytes: Int64
    host_generated_code_size_in_bytes: Int64
    host_argument_size_in_bytes: Int64
    host_output_size_in_bytes: Int64
    host_alias_size_in_bytes: Int64
    host_temp_size_in_bytes: Int64
    # results that came later
    peak_memory_in_bytes: Int64
    total_size_in_bytes: Int64
    total_allocation_bytes: Int64
    indefinite_allocations: Int64
    peak_unpadded_heap_bytes: Int64


@struct
class ExecutableDeserializeAndLoad(Args):
    """An executable from its bytes."""

    client: Address
    serialized_executable: Address
    serialized_executable_size: Size
    # results
    loaded_executable: Address
    # arguments that came later
    overridden_serialized_compile_options: Address
    overridden_serialized_compile_options_size: Size


@struct
class ExecutableBytes(Args):
    """An executable as bytes, or its device assignment, or its compile options."""

    executable: Address
    # results
    serialized_bytes: Address
    serialized_bytes_size: Size
    owner: Address
    owner_deleter: Address  # void(owner)


@struct
class LoadedExecutableGetExecutable(Args):
    """What was loaded."""

    loaded_executable: Address
    # results
    executable: Address


@struct
class LoadedExecutableAddressableDevices(Args):
    """The devices that an executable runs on."""

    executable: Address
    # results
    addressable_devices: Address
    num_addressable_devices: Size


@struct
class LoadedExecutableAddressableDeviceLogicalIds(Args):
    """The replica and the partition that each of these devices is."""

    executable: Address
    # results
    addressable_device_logical_ids: Address  # two ints a device
    num_addressable_device_logical_ids: Size


@struct
class LoadedExecutableIsDeleted(Args):
    """Whether an executable was deleted."""

    executable: Address
    # results
    is_deleted: Bool


@struct
class LoadedExecutableExecute(Args):
    """Call a program."""

    executable: Address
    options: Address  # ExecuteOptions*
    argument_lists: Address  # PJRT_Buffer* const* const*, by device, then by argument
    num_devices: Size
    num_args: Size
    output_lists: Address  # PJRT_Buffer** const*, to be written, by device, then by result
    # results
    device_complete_events: Address  # PJRT_Event*[num_devices] to be written, or 0
    # an argument that came later
    execute_device: Address


@struct
class ExecuteOptions(Args):
    """How a program is called, beside its arguments."""

    send_callbacks: Address
    recv_callbacks: Address
    num_send_ops: Size
    num_recv_ops: Size
    launch_id: Int
    non_donatable_input_indices: Address  # int64[num_non_donatable_input_indices]
    num_non_donatable_input_indices: Size


# ------------------------------------------------------------------------------------ buffers

@struct
class BufferDestroy(Args):
    """Free a buffer. Other functions that take a buffer and tell nothing look the same."""

    buffer: Address


@struct
class BufferElementType(Args):
    """A buffer's element type."""

    buffer: Address
    # results
    type: Int


@struct
class BufferDimensions(Args):
    """A buffer's dimensions."""

    buffer: Address
    # results
    dims: Address
    num_dims: Size


@struct
class BufferDynamicDimensionIndices(Args):
    """Which of the dimensions have a size that is known at run time only."""

    buffer: Address
    # results
    dynamic_dim_indices: Address
    num_dynamic_dims: Size


@struct
class MemoryLayout(Args):
    """How an array lies in memory: PJRT_Buffer_MemoryLayout with the layout in tiles."""

    layout_struct_size: Size
    layout_extension_start: Address
    minor_to_major: Address  # int64[minor_to_major_size]
    minor_to_major_size: Size
    tile_dims: Address
    tile_dim_sizes: Address
    num_tiles: Size
    type: Int


@struct
class BufferGetMemoryLayout(Args):
    """How a buffer lies in memory. The layout's members are a struct of their own in the header."""

    buffer: Address
    # results
    own_struct_size: Size
    own_extension_start: Address
    layout_struct_size: Size
    layout_extension_start: Address
    minor_to_major: Address
    minor_to_major_size: Size
    tile_dims: Address
    tile_dim_sizes: Address
    num_tiles: Size
    type: Size  # an int and its padding


@struct
class BufferOnDeviceSizeInBytes(Args):
    """The bytes that a buffer takes."""

    buffer: Address
    # results
    on_device_size_in_bytes: Size


@struct
class BufferDevice(Args):
    """The device of a buffer."""

    buffer: Address
    # results
    device: Address


@struct
class BufferMemory(Args):
    """The memory of a buffer."""

    buffer: Address
    # results
    memory: Address


@struct
class BufferIsDeleted(Args):
    """Whether a buffer was deleted, or donated."""

    buffer: Address
    # results
    is_deleted: Bool


@struct
class BufferIsOnCpu(Args):
    """Whether the host can read a buffer where it is."""

    buffer: Address
    # results
    is_on_cpu: Bool


@struct
class BufferCopyToDevice(Args):
    """A copy of a buffer on another device."""

    buffer: Address
    dst_device: Address
    # results
    dst_buffer: Address


@struct
class BufferCopyToMemory(Args):
    """A copy of a buffer in another memory."""

    buffer: Address
    dst_memory: Address
    # results
    dst_buffer: Address


@struct
class BufferToHostBuffer(Args):
    """A buffer to an array of the host. With dst 0, only how many bytes it takes."""

    src: Address
    host_layout: Address  # PJRT_Buffer_MemoryLayout*; 0: the buffer's own
    dst: Address
    dst_size: Size  # also a result
    # results
    event: Address


@struct
class BufferCopyRawToHost(Args):
    """Some of a buffer's bytes."""

    buffer: Address
    dst: Address
    offset: Int64
    transfer_size: Int64
    # results
    event: Address


@struct
class BufferReadyEvent(Args):
    """The event that a buffer has its value."""

    buffer: Address
    # results
    event: Address


@struct
class BufferPointer(Args):
    """Where a buffer lies."""

    buffer: Address
    # results
    pointer: Address


# -------------------------------------------------------------------------- layouts extension

@struct
class LayoutDestroy(Args):
    """Free a layout."""

    layout: Address


@struct
class LayoutSerialize(Args):
    """A layout as text, such as "{1,0}"."""

    layout: Address
    # results
    serialized_bytes: Address
    serialized_bytes_size: Size
    serialized_layout: Address
    serialized_layout_deleter: Address


@struct
class LayoutOfType(Args):
    """The layout that arrays of a shape have unless something else is said."""

    client: Address
    type: Int
    dims: Address
    num_dims: Size
    # results
    layout: Address


@struct
class LayoutOfBuffer(Args):
    """The layout of a buffer."""

    buffer: Address
    # results
    layout: Address


@struct
class LayoutsOfExecutable(Args):
    """The layouts of an executable's parameters, or of its outputs."""

    executable: Address
    # results
    count: Size
    layouts: Address


# ------------------------------------------------------------------------------- the table itself

@struct
class ExtensionBase(Record):
    """What each extension begins with."""

    struct_size: Size
    type: Int
    next: Address
