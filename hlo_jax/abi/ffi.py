"""XLA's FFI, by which a program calls functions of its user: structs and functions, in their order.

A *handler* is a function `XLA_FFI_Error *handler(XLA_FFI_CallFrame *frame)`. The frame holds the
arguments, the results and the attributes of the call, each as an array of types and an array of
addresses, and a table of functions that the handler may call: `XLA_FFI_Api`.

The names are those of the header: `CallFrame` is `XLA_FFI_CallFrame`.

Source: openxla/xla, `xla/ffi/api/c_api.h`, version 0.3, which jaxlib ships (`jax.ffi.include_dir`).
"""

from enum import IntEnum
from typing import Annotated, Final

from hlo.types.element_type import ELEMENT_TYPES, ElementType
from hlo_jax.abi.members import Address, Args, CStruct, Int, Int64, Size, struct

MAJOR, MINOR = 0, 3
BUFFER: Final = 1  # XLA_FFI_ArgType and XLA_FFI_RetType have this one member
METADATA: Final = 1  # XLA_FFI_Extension_Type, too


class ExecutionStage(IntEnum):
    """XLA_FFI_ExecutionStage: a target may have a handler for each."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


class AttrType(IntEnum):
    """XLA_FFI_AttrType: the kind of value at the address of an attribute."""

    ARRAY = 1
    DICTIONARY = 2
    SCALAR = 3
    STRING = 4


# XLA_FFI_DataType, which counts element types as XLA's protocol buffers do.
_NUMBERS: Final = {
    "pred": 1,
    "s1": 30,
    "s2": 26,
    "s4": 21,
    "s8": 2,
    "s16": 3,
    "s32": 4,
    "s64": 5,
    "u1": 31,
    "u2": 27,
    "u4": 22,
    "u8": 6,
    "u16": 7,
    "u32": 8,
    "u64": 9,
    "f16": 10,
    "f32": 11,
    "f64": 12,
    "bf16": 16,
    "c64": 15,
    "c128": 18,
    "token": 17,
    "f8e5m2": 19,
    "f8e3m4": 29,
    "f8e4m3": 28,
    "f8e4m3fn": 20,
    "f8e4m3b11fnuz": 23,
    "f8e5m2fnuz": 24,
    "f8e4m3fnuz": 25,
    "f4e2m1fn": 32,
    "f8e8m0fnu": 33,
}
DATA_TYPES: Final[dict[ElementType, int]] = {
    ELEMENT_TYPES[name]: number for name, number in _NUMBERS.items() if name in ELEMENT_TYPES
}

# ------------------------------------------------------------------------------ values


@struct
class ArrayArgument(Args):
    """An array that is an argument or a result."""

    dtype: Int
    data: Address
    rank: Int64
    dims: Address  # int64[rank]


@struct
class ByteSpan(CStruct):
    """A text, which need not end with a zero."""

    ptr: Address
    len: Size


@struct
class ScalarAttribute(CStruct):
    """A number, as an attribute."""

    dtype: Int
    value: Address


@struct
class ArrayAttribute(CStruct):
    """Numbers, as an attribute."""

    dtype: Int
    size: Size
    data: Address


# -------------------------------------------------------------------------------- calls


@struct
class Arguments(Args):
    """XLA_FFI_Args and XLA_FFI_Rets: arrays."""

    size: Int64
    types: Address  # Int[size], each BUFFER
    values: Address  # Buffer*[size]


@struct
class NamedAttributes(Args):
    """XLA_FFI_Attrs: the attributes of a call, sorted by name."""

    size: Int64
    types: Address  # AttrType[size]
    names: Address  # ByteSpan*[size]
    values: Address  # void*[size]


_Arguments = Annotated[Arguments, Arguments, "XLA_FFI_Args "]
_Attributes = Annotated[NamedAttributes, NamedAttributes, "XLA_FFI_Attrs "]
_ByteSpan = Annotated[ByteSpan, ByteSpan, "XLA_FFI_ByteSpan "]


@struct
class CallFrame(Args):
    """A call."""

    api: Address  # of the Api
    ctx: Address  # an XLA_FFI_ExecutionContext, which is opaque to the handler
    stage: Int
    args: _Arguments
    rets: _Arguments
    attrs: _Attributes
    future: Address  # out: what tells that the call has ended, if it goes on after its return


@struct
class ApiVersion(Args):
    """A version of this interface."""

    major_version: Int
    minor_version: Int


_ApiVersion = Annotated[ApiVersion, ApiVersion, "XLA_FFI_Api_Version "]


@struct
class HandlerMetadata(CStruct):
    """The metadata of a handler, which it gives when it is called with a MetadataExtension."""

    struct_size: Size
    api_version: _ApiVersion  # out
    traits: Int  # out
    state_type_id: Int64  # out


@struct
class MetadataExtension(CStruct):
    """The extension of a call frame that asks for no call, but for metadata."""

    struct_size: Size
    type: Int  # METADATA
    next: Address
    metadata: Address


@struct
class TypeInfo(Args):
    """The functions of a type of the user's."""

    deleter: Address  # void(void* object)


# ----------------------------------------------------------- functions that a handler may call


@struct
class FfiErrorCreate(Args):
    """Make an error, which is the result."""

    message: Address
    errc: Int


@struct
class FfiErrorGetMessage(Args):
    """The text of an error."""

    error: Address
    # results
    message: Address


@struct
class FfiErrorDestroy(Args):
    """Free an error."""

    error: Address


@struct
class HandlerRegister(Args):
    """Enter handlers under a name."""

    name: _ByteSpan
    platform: _ByteSpan
    instantiate: Address
    prepare: Address
    initialize: Address
    execute: Address
    traits: Int


@struct
class StreamGet(Args):
    """The stream of the device."""

    ctx: Address
    # results
    stream: Address


@struct
class TypeRegister(Args):
    """Give a type of the user's a number."""

    name: _ByteSpan
    type_id: Address  # int64; 0 asks for a new number, and is overwritten with it
    type_info: Address


@struct
class ExecutionContextGet(Args):
    """The object that the caller of the program put into the context for a type."""

    ctx: Address
    type_id: Address  # int64
    # results
    data: Address


@struct
class StateSet(Args):
    """Leave a state for later stages, and later calls of the same stage."""

    ctx: Address
    stage: Int
    type_id: Address  # int64
    state: Address


@struct
class StateGet(Args):
    """The state that a stage left."""

    ctx: Address
    stage: Int
    type_id: Address  # int64
    # results
    state: Address


@struct
class DeviceMemoryAllocate(Args):
    """Memory for the time of the call."""

    ctx: Address
    size: Size
    alignment: Size
    # results
    data: Address


@struct
class DeviceMemoryFree(Args):
    """Free such memory."""

    ctx: Address
    size: Size
    data: Address


@struct
class ThreadPoolSchedule(Args):
    """Let a thread call a function."""

    ctx: Address
    task: Address  # void(void* data)
    data: Address


@struct
class ThreadPoolNumThreads(Args):
    """The number of threads."""

    ctx: Address
    num_threads: Address  # int64, out


@struct
class FutureCreate(Args):
    """Make a future that tells that a call has ended."""

    # results
    future: Address


@struct
class FutureSetAvailable(Args):
    """The call has ended well."""

    future: Address


@struct
class FutureSetError(Args):
    """The call has ended with an error, which is the caller's no more."""

    future: Address
    error: Address


@struct
class RunIdGet(Args):
    """A number of the program's run."""

    ctx: Address
    # results
    run_id: Int64


@struct
class DeviceOrdinalGet(Args):
    """The number of the device on which the program runs."""

    ctx: Address
    # results
    device_ordinal: Int


# The functions of XLA_FFI_Api in the order in which it holds them, after its head.
FUNCTIONS: Final[dict[str, type[Args]]] = {
    "XLA_FFI_Error_Create": FfiErrorCreate,
    "XLA_FFI_Error_GetMessage": FfiErrorGetMessage,
    "XLA_FFI_Error_Destroy": FfiErrorDestroy,
    "XLA_FFI_Handler_Register": HandlerRegister,
    "XLA_FFI_Stream_Get": StreamGet,
    "XLA_FFI_Type_Register": TypeRegister,
    "XLA_FFI_ExecutionContext_Get": ExecutionContextGet,
    "XLA_FFI_State_Set": StateSet,
    "XLA_FFI_State_Get": StateGet,
    "XLA_FFI_DeviceMemory_Allocate": DeviceMemoryAllocate,
    "XLA_FFI_DeviceMemory_Free": DeviceMemoryFree,
    "XLA_FFI_ThreadPool_Schedule": ThreadPoolSchedule,
    "XLA_FFI_ThreadPool_NumThreads": ThreadPoolNumThreads,
    "XLA_FFI_Future_Create": FutureCreate,
    "XLA_FFI_Future_SetAvailable": FutureSetAvailable,
    "XLA_FFI_Future_SetError": FutureSetError,
    "XLA_FFI_RunId_Get": RunIdGet,
    "XLA_FFI_DeviceOrdinal_Get": DeviceOrdinalGet,
}


@struct
class ApiHead(Args):
    """The first members of XLA_FFI_Api."""

    api_version: _ApiVersion
    internal_api: Address
