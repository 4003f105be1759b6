"""Devices, memories, topologies."""

from hlo_jax.abi.members import Address, Args, Bool, Int, Int64, Size, struct


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
    """The attributes of a device."""

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
    """The default memory of a device's arrays."""

    device: Address
    # results
    memory: Address


@struct
class DeviceMemoryStats(Args):
    """The number of bytes that a device's arrays take. What is not set is not known."""

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
    """The attributes of a device, in memory that the caller frees."""

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
class TopologyCreate(Args):
    """A topology by its name."""

    topology_name: Address
    topology_name_size: Size
    create_options: Address
    num_options: Size
    # results
    topology: Address


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
    """The attributes of a topology."""

    topology: Address
    # results
    attributes: Address
    num_attributes: Size
