"""From exceptions of Python to errors of PJRT: a code and a text."""

from __future__ import annotations

import traceback

from hlo.errors.error import HloError
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.ffi.errors import HandlerError
from hlo_jax.programs.options import OptionError
from hlo_jax.programs.program import FormatError
from hlo_jax.shim import shim

# Any other error is one of the program: INVALID_ARGUMENT.
_CODES = {
    "HLO100": ErrorCode.UNIMPLEMENTED,
    "HLO101": ErrorCode.UNIMPLEMENTED,
    "HLO113": ErrorCode.RESOURCE_EXHAUSTED,
    "HLO114": ErrorCode.RESOURCE_EXHAUSTED,
    "HLO115": ErrorCode.RESOURCE_EXHAUSTED,
    "HLO117": ErrorCode.ABORTED,
    "HLO121": ErrorCode.UNIMPLEMENTED,
    "HLO180": ErrorCode.FAILED_PRECONDITION,
    "HLO181": ErrorCode.UNIMPLEMENTED,
    "HLO182": ErrorCode.INTERNAL,
}


class PjrtError(Exception):
    """An error with the code that JAX shall see."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class PassedOnError(Exception):
    """An error that there is already: of the call that should have made a buffer.

    Attributes
    ----------
    handle : of the PJRT_Error.
    """

    def __init__(self, handle: int) -> None:
        super().__init__("an earlier call failed")
        self.handle = handle


def code_of(error: BaseException) -> ErrorCode:
    """The code of an exception."""
    if isinstance(error, PjrtError | HandlerError):
        return error.code
    if isinstance(error, HloError):
        return _CODES.get(error.code, ErrorCode.INVALID_ARGUMENT)
    if isinstance(error, OptionError | FormatError):
        return ErrorCode.INVALID_ARGUMENT
    if isinstance(error, MemoryError):
        return ErrorCode.RESOURCE_EXHAUSTED
    if isinstance(error, NotImplementedError):
        return ErrorCode.UNIMPLEMENTED
    return ErrorCode.CANCELLED if isinstance(error, KeyboardInterrupt) else ErrorCode.INTERNAL


def text_of(error: BaseException) -> str:
    """The text that JAX shows: an error's message, with the traceback if it is not PyHLO's."""
    known = isinstance(error, PjrtError | HandlerError | HloError | OptionError | FormatError)
    if known or not isinstance(error, Exception):
        return str(error) or type(error).__name__
    return "".join(traceback.format_exception(error))


def error_of(error: BaseException) -> int:
    """A PJRT_Error for an exception, for its caller to free.

    A KeyboardInterrupt is CANCELLED; the shim sees to it that it is raised again.
    """
    if isinstance(error, PassedOnError):
        return error.handle
    text = text_of(error).encode()
    return shim().make_error(code_of(error), text, len(text))
