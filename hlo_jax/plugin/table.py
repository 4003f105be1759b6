"""The table of PJRT's functions: `PJRT_Api`, made of functions of Python and of the shim.

    @answers("PJRT_Client_PlatformName")
    def platform_name(args: ClientPlatformName) -> None:
        args.platform_name, args.platform_name_size = text("pyhlo")

enters a function. It is given the struct of the caller, in the caller's memory, writes its results
there, and raises an exception where it fails.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from hlo_jax.abi.functions import FUNCTIONS, LAYOUT_FUNCTIONS
from hlo_jax.abi.members import cuts_a_member, size
from hlo_jax.abi.numbers import MAJOR, MINOR, ErrorCode, Extension
from hlo_jax.abi.structs import ExtensionBase
from hlo_jax.plugin.errors import PjrtError, error_of
from hlo_jax.shim import address_of, answer, shim
from hlo_jax.shim.records import RaisedRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo_jax.abi.members import Args

    Answer = Callable[[Any], None]

# The result of a Python function that succeeds, for the shim; else it gives a PJRT_Error*.
DONE: Final = 1
_KIND: Final = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)
# size_t struct_size, PJRT_Extension_Base*, and PJRT_Api_Version: size, extension, two ints.
_HEAD: Final = ctypes.c_size_t * 5
ANSWERS: dict[str, Answer] = {}
QUESTIONS: dict[str, Callable[[int], None]] = {}
# The `struct_size` that the caller gave last: how old its PJRT is.
CALLERS: dict[type[Args], int] = {}


def answers(*names: str) -> Callable[[Answer], Answer]:
    """Enter the decorated function into the table."""

    def enter(answer: Answer) -> Answer:
        for name in names:
            if name in ANSWERS:
                raise KeyError(f"{name} is answered twice")
            ANSWERS[name] = answer
        return answer

    return enter


def asked(name: str) -> Callable[[Callable[[int], None]], Callable[[int], None]]:
    """Let the shim ask the decorated function, of one address, by a name of `shim.ASKED`."""

    def enter(function: Callable[[int], None]) -> Callable[[int], None]:
        QUESTIONS[name] = function
        return function

    return enter


def _ask(function: Callable[[int], None], address: int) -> int:
    try:
        function(address)
    except BaseException as error:
        return error_of(error)
    return DONE


def call(struct: type[Args], answer: Answer, address: int) -> int:
    """Answer a call: the struct at an address is read and written; gives an error or DONE."""
    try:
        given = struct.from_address(address)
        CALLERS[struct] = given.struct_size
        if given.struct_size >= size(struct):
            answer(given)
            return DONE
        _answer_older(struct, answer, address, given.struct_size)
    except BaseException as error:
        return error_of(error)
    return DONE


def _answer_older(struct: type[Args], answer: Answer, address: int, known: int) -> None:
    """Answer a caller who is older than our table.

    There is nothing in its memory for the last members, so a copy is worked on.
    """
    if cuts_a_member(struct, known):
        ends = f"its {struct.__name__} ends after {known} bytes, inside a member"
        raise PjrtError(ErrorCode.FAILED_PRECONDITION, f"PJRT is not as PyHLO knows it: {ends}")
    copy = struct()
    ctypes.memmove(ctypes.addressof(copy), address, known)
    answer(copy)
    ctypes.memmove(address, ctypes.addressof(copy), known)


def _unanswered(name: str, _address: int) -> int:
    return error_of(PjrtError(ErrorCode.UNIMPLEMENTED, f"PyHLO has no {name}"))


class PjrtApi:
    """PJRT_Api with all that it points to, which must live as long as the process.

    Attributes
    ----------
    callbacks : the functions of Python, by name.
    """

    def __init__(self) -> None:
        self.callbacks: dict[str, Any] = {}
        layouts = self._extension(Extension.LAYOUTS, LAYOUT_FUNCTIONS)
        bytes_of_functions = 8 * len(FUNCTIONS)
        version = ctypes.c_size_t(MAJOR | MINOR << 32)  # two ints
        self._memory = ctypes.create_string_buffer(ctypes.sizeof(_HEAD) + bytes_of_functions)
        head = _HEAD.from_buffer(self._memory)
        head[:] = [len(self._memory.raw), ctypes.addressof(layouts), 24, 0, version.value]
        self._fill(self._memory, ctypes.sizeof(_HEAD), FUNCTIONS)
        self._answer("raised", partial(call, RaisedRecord, ANSWERS["raised"]))
        for name, function in QUESTIONS.items():
            self._answer(name, partial(_ask, function))

    @property
    def address(self) -> int:
        """Of the PJRT_Api."""
        return ctypes.addressof(self._memory)

    def _extension(self, kind: Extension, functions: dict[str, type[Args] | None]) -> Any:
        """An extension: a struct that begins with a kind and the next extension."""
        start = ctypes.sizeof(ExtensionBase)
        self._layouts = ctypes.create_string_buffer(start + 8 * len(functions))
        base = ExtensionBase.from_buffer(self._layouts)
        base.struct_size, base.type, base.next = len(self._layouts.raw), kind, 0
        self._fill(self._layouts, start, functions)
        return self._layouts

    def _fill(self, memory: Any, start: int, functions: dict[str, type[Args] | None]) -> None:
        array = (ctypes.c_size_t * len(functions)).from_buffer(memory, start)
        array[:] = [self._function(name, struct) for name, struct in functions.items()]

    def _function(self, name: str, struct: type[Args] | None) -> int:
        """The address of a function: the shim's, which may call one of Python, or that."""
        own = address_of(name)
        if struct is not None and name in ANSWERS:
            asking = self._answer(name, partial(call, struct, ANSWERS[name]))
        elif own is None:
            asking = self._answer(name, partial(_unanswered, name))
        else:
            asking = own
        return own or asking

    def _answer(self, name: str, called: Callable[[int], int]) -> int:
        callback = self.callbacks[name] = _KIND(called)
        return answer(name, ctypes.cast(callback, ctypes.c_void_p).value or 0)

    def end(self) -> None:
        """Let the queue come to an end, and C answer instead of Python, that Python has ended."""
        shim().close_queue()
        for name in self.callbacks:
            answer(name, 0)


@cache
def table() -> PjrtApi:
    """The table of this process."""
    return PjrtApi()


def capsule() -> Any:
    """The table's address in a capsule, as JAX takes it."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p],
    )
    return make(table().address, b"pjrt_c_api", None)
