"""Arguments of the calls that query and run executables."""

from hlo_jax.abi.members import Address, Args, Bool, Int, Int64, Size, struct


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
    """The cost of an executable, in operations and bytes."""

    executable: Address
    # results
    num_properties: Size
    properties: Address  # NamedValue[num_properties]


@struct
class ExecutableOutputMemoryKinds(Args):
    """The kind of memory in which each output lies."""

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
    """The optimized program. Asked twice: for the size, then with memory for the code."""

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
    """The executable that was loaded."""

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
    """The options of a call, beside its arguments."""

    send_callbacks: Address
    recv_callbacks: Address
    num_send_ops: Size
    num_recv_ops: Size
    launch_id: Int
    non_donatable_input_indices: Address  # int64[num_non_donatable_input_indices]
    num_non_donatable_input_indices: Size
