"""`XLA_FFI_Api`: the functions that a handler may call while it runs.

Errors, futures and contexts are numbers for the handler, which stand for objects of Python here.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from hlo_jax.abi import ffi
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.ffi.errors import HandlerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo_jax.abi.members import Args

    Answer = Callable[[Any], None]

_FUNCTION: Final = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)
_TASK: Final = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
_numbers = itertools.count(1)
T = TypeVar("T")


class Handles(Generic[T]):
    """Objects of Python that are numbers for C."""

    def __init__(self) -> None:
        self._objects: dict[int, T] = {}

    def enter(self, value: T) -> int:
        """Give an object a number."""
        number = next(_numbers)
        self._objects[number] = value
        return number

    def take(self, number: int) -> T:
        """An object, whose number stands for nothing from now on."""
        return self._objects.pop(number)

    def __getitem__(self, number: int) -> T:
        """The object of a number."""
        return self._objects[number]


class ErrorInMemory:
    """An error that a handler made: a code and a text, which lies in memory for C."""

    def __init__(self, code: int, message: bytes) -> None:
        self.code, self.message = code, ctypes.create_string_buffer(message)

    @property
    def exception(self) -> HandlerError:
        """The exception that says the same."""
        known = self.code in set(ErrorCode)
        code = ErrorCode(self.code) if known else ErrorCode.UNKNOWN
        return HandlerError(code, self.message.value.decode(errors="replace"))


class Future:
    """The future of a call that goes on after its return."""

    def __init__(self) -> None:
        self._ended, self._error = threading.Event(), None

    def end(self, error: ErrorInMemory | None) -> None:
        """The call has ended."""
        self._error = error
        self._ended.set()

    def wait(self) -> ErrorInMemory | None:
        """Wait for the end."""
        self._ended.wait()
        return self._error


class States:
    """The states that handlers leave, by stage: a type's number and an address."""

    def __init__(self, outer: States | None = None) -> None:
        self._own: dict[int, tuple[int, int]] = {}
        self._outer = outer

    def set(self, stage: int, type_id: int, state: int) -> None:
        """Leave a state."""
        if stage in self._own:
            name = ffi.ExecutionStage(stage).name.lower()
            message = f"the state of the stage {name} of a foreign function is set already"
            raise HandlerError(ErrorCode.ALREADY_EXISTS, message)
        self._own[stage] = type_id, state

    def get(self, stage: int, type_id: int) -> int:
        """The state that a stage left."""
        found = self._own.get(stage)
        if found is None and self._outer:
            return self._outer.get(stage, type_id)
        name = ffi.ExecutionStage(stage).name.lower()
        if found is None:
            message = f"a foreign function has no state of the stage {name}"
            raise HandlerError(ErrorCode.NOT_FOUND, message)
        if found[0] != type_id:
            message = f"the state of the stage {name} of a foreign function is of another type"
            raise HandlerError(ErrorCode.INVALID_ARGUMENT, message)
        return found[1]

    def delete(self) -> None:
        """Free the states, as their types say."""
        for type_id, state in self._own.values():
            if deleter := _DELETERS.get(type_id):
                _TASK(deleter)(state)
        self._own.clear()


ERRORS: Final = Handles[ErrorInMemory]()
FUTURES: Final = Handles[Future]()
CONTEXTS: Final = Handles[States]()
_DELETERS: dict[int, int] = {}
_TYPES: dict[str, int] = {}


def register_type(name: str, type_id: int, type_info: int) -> None:
    """Give a type of the user's a number, unless it has one.

    Parameters
    ----------
    type_id : the address of the number.
    type_info : the address of a TypeInfo, or 0.
    """
    number = ctypes.c_int64.from_address(type_id)
    if not number.value:
        number.value = _TYPES.get(name) or next(_numbers)
    if _TYPES.setdefault(name, number.value) != number.value:
        raise HandlerError(ErrorCode.ALREADY_EXISTS, f"the type {name!r} has another number")
    # Before FFI 0.3 the struct had no size at its beginning.
    if type_info and _int64(type_info) == ctypes.sizeof(ffi.TypeInfo):
        _DELETERS[number.value] = ffi.TypeInfo.from_address(type_info).deleter


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "pyhlo-ffi")


# ------------------------------------------------------------------------------ functions


def _int64(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _span(span: ffi.ByteSpan) -> str:
    return ctypes.string_at(span.ptr, span.len).decode()


def _get_message(args: ffi.FfiErrorGetMessage) -> None:
    args.message = ctypes.addressof(ERRORS[args.error].message)


def _destroy_error(args: ffi.FfiErrorDestroy) -> None:
    ERRORS.take(args.error)


def _get_stream(_args: ffi.StreamGet) -> None:
    raise HandlerError(ErrorCode.UNIMPLEMENTED, "PyHLO runs on the CPU, which has no streams")


def _register_type(args: ffi.TypeRegister) -> None:
    register_type(_span(args.name), args.type_id, args.type_info)


def _register_handler(args: ffi.HandlerRegister) -> None:
    message = f"{_span(args.name)}: register handlers with jax.ffi.register_ffi_target"
    raise HandlerError(ErrorCode.UNIMPLEMENTED, message)


def _get_data(_args: ffi.ExecutionContextGet) -> None:
    raise HandlerError(ErrorCode.NOT_FOUND, "JAX gives foreign functions no data of the caller")


def _set_state(args: ffi.StateSet) -> None:
    CONTEXTS[args.ctx].set(args.stage, _int64(args.type_id), args.state)


def _get_state(args: ffi.StateGet) -> None:
    args.state = CONTEXTS[args.ctx].get(args.stage, _int64(args.type_id))


def _allocate(args: ffi.DeviceMemoryAllocate) -> None:
    made, alignment = ctypes.c_void_p(), max(args.alignment, 8)
    allocate = ctypes.CDLL(None).posix_memalign
    size = ctypes.c_size_t(max(args.size, 1))
    if allocate(ctypes.byref(made), ctypes.c_size_t(alignment), size):
        message = f"no memory for {args.size} bytes of a foreign function"
        raise HandlerError(ErrorCode.RESOURCE_EXHAUSTED, message)
    args.data = made.value or 0


def _free(args: ffi.DeviceMemoryFree) -> None:
    ctypes.CDLL(None).free(ctypes.c_void_p(args.data))


def _schedule(args: ffi.ThreadPoolSchedule) -> None:
    _threads().submit(_TASK(args.task), args.data)


def _count_threads(args: ffi.ThreadPoolNumThreads) -> None:
    ctypes.c_int64.from_address(args.num_threads).value = os.cpu_count() or 1


def _create_future(args: ffi.FutureCreate) -> None:
    args.future = FUTURES.enter(Future())


def _run_id(args: ffi.RunIdGet) -> None:
    args.run_id = args.ctx  # a context is of one run


def _device_ordinal(args: ffi.DeviceOrdinalGet) -> None:
    if os.environ.get("PYHLO_JAX_DEVICES", "1") != "1":
        message = "PyHLO tells a foreign function no device where there are several"
        raise HandlerError(ErrorCode.UNIMPLEMENTED, message)
    args.device_ordinal = 0


_ANSWERS: Final[dict[str, Answer]] = {
    "XLA_FFI_Error_GetMessage": _get_message,
    "XLA_FFI_Error_Destroy": _destroy_error,
    "XLA_FFI_Handler_Register": _register_handler,
    "XLA_FFI_Stream_Get": _get_stream,
    "XLA_FFI_Type_Register": _register_type,
    "XLA_FFI_ExecutionContext_Get": _get_data,
    "XLA_FFI_State_Set": _set_state,
    "XLA_FFI_State_Get": _get_state,
    "XLA_FFI_DeviceMemory_Allocate": _allocate,
    "XLA_FFI_DeviceMemory_Free": _free,
    "XLA_FFI_ThreadPool_Schedule": _schedule,
    "XLA_FFI_ThreadPool_NumThreads": _count_threads,
    "XLA_FFI_Future_Create": _create_future,
    "XLA_FFI_Future_SetAvailable": lambda args: FUTURES[args.future].end(None),
    "XLA_FFI_Future_SetError": lambda args: FUTURES[args.future].end(ERRORS.take(args.error)),
    "XLA_FFI_RunId_Get": _run_id,
    "XLA_FFI_DeviceOrdinal_Get": _device_ordinal,
}


def _create_error(address: int) -> int:
    """The one function that returns its object, not an error."""
    args = ffi.FfiErrorCreate.from_address(address)
    return ERRORS.enter(ErrorInMemory(args.errc, ctypes.string_at(args.message)))


def _call(struct: type[Args], answer: Answer, address: int) -> int:
    """Answer a call with an error's number, or 0."""
    try:
        answer(struct.from_address(address))
    except HandlerError as error:
        return ERRORS.enter(ErrorInMemory(error.code, str(error).encode()))
    except Exception:
        return ERRORS.enter(ErrorInMemory(ErrorCode.INTERNAL, traceback.format_exc().encode()))
    return 0


class FfiApi:
    """XLA_FFI_Api, with the objects that it points to."""

    def __init__(self) -> None:
        head = ctypes.sizeof(ffi.ApiHead)
        self._memory = ctypes.create_string_buffer(head + 8 * len(ffi.FUNCTIONS))
        begin = ffi.ApiHead.from_buffer(self._memory)
        begin.struct_size = len(self._memory)
        version = ctypes.sizeof(ffi.ApiVersion)
        begin.api_version = ffi.ApiVersion(
            struct_size=version, major_version=ffi.MAJOR, minor_version=ffi.MINOR
        )
        self._functions = [self._function(name, s) for name, s in ffi.FUNCTIONS.items()]
        array = (ctypes.c_size_t * len(ffi.FUNCTIONS)).from_buffer(self._memory, head)
        array[:] = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._functions]
        self.address = ctypes.addressof(self._memory)

    def _function(self, name: str, struct: type[Args]) -> Any:
        if name == "XLA_FFI_Error_Create":
            return _FUNCTION(_create_error)
        return _FUNCTION(partial(_call, struct, _ANSWERS[name]))


@cache
def table() -> FfiApi:
    """The table of this process."""
    return FfiApi()
