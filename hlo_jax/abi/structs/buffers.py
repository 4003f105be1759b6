"""Buffers, and how they lie in memory."""

from hlo_jax.abi.members import Address, Args, Bool, Int, Int64, Size, struct


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
    """The dimensions whose size is known at run time only."""

    buffer: Address
    # results
    dynamic_dim_indices: Address
    num_dynamic_dims: Size


@struct
class MemoryLayout(Args):
    """The layout of an array in memory: PJRT_Buffer_MemoryLayout with the layout in tiles."""

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
    """The layout of a buffer in memory.

    The layout's members are a struct of their own in the header.
    """

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
    """The address of a buffer."""

    buffer: Address
    # results
    pointer: Address


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
