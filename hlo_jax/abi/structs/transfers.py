"""Buffers that are filled piece by piece: what other processes send to a device arrives so."""

from hlo_jax.abi.members import Address, Args, Bool, CStruct, Int, Int64, Size, struct


@struct
class ShapeSpec(CStruct):
    """The shape of one of the buffers."""

    struct_size: Size
    extension_start: Address
    dims: Address  # int64[num_dims]
    num_dims: Size
    element_type: Int


@struct
class ClientCreateBuffersForAsyncHostToDevice(Args):
    """Buffers that are to be filled, and who fills them."""

    client: Address
    shape_specs: Address  # ShapeSpec[num_shape_specs]
    num_shape_specs: Size
    device_layouts: Address  # PJRT_Buffer_MemoryLayout*[num_device_layouts]
    num_device_layouts: Size
    memory: Address
    # results
    transfer_manager: Address


@struct
class TransfersDestroy(Args):
    """Buffers that are not filled never will be."""

    transfer_manager: Address


@struct
class TransfersTransferData(Args):
    """Some bytes of a buffer."""

    transfer_manager: Address
    buffer_index: Int
    data: Address
    offset: Int64
    transfer_size: Int64
    is_last_transfer: Bool
    # results
    done_with_h2d_transfer: Address


@struct
class TransfersRetrieveBuffer(Args):
    """A buffer, before or after it is filled."""

    transfer_manager: Address
    buffer_index: Int
    # results
    buffer_out: Address


@struct
class TransfersDevice(Args):
    """The device of all buffers."""

    transfer_manager: Address
    # results
    device_out: Address


@struct
class TransfersBufferCount(Args):
    """The number of buffers."""

    transfer_manager: Address
    # results
    buffer_count: Size


@struct
class TransfersBufferSize(Args):
    """The bytes of a buffer."""

    transfer_manager: Address
    buffer_index: Int
    # results
    buffer_size: Size


@struct
class TransfersSetBufferError(Args):
    """A buffer has no value: who waits for it is told why."""

    transfer_manager: Address
    buffer_index: Int
    error_code: Int
    error_message: Address
    error_message_size: Size


@struct
class TransfersAddMetadata(Args):
    """Words for a profiler."""

    transfer_manager: Address
    transfer_metadata: Address
    num_metadata: Size
