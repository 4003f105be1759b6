"""Mistakes of answers, as students read them."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from hlo_tools.exercises.limits import CALL_SECONDS, CallTooLongError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo_tools.search.shrink.case import Case

UNWRITTEN = "not written yet"


class ResultTypeError(TypeError):
    """A student's function gave something of another type than is wanted."""

    def __init__(self, result: object, wanted: str) -> None:
        """Name the type that it has, and the one that is wanted."""
        super().__init__(f"gives {_of_type(result)}, where {wanted} is wanted")


def _of_type(result: object) -> str:
    name = type(result).__name__
    return "None" if result is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


@dataclass(frozen=True)
class FunctionLocation:
    """A function in a student's file, and its first line."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        """As debuggers take it."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Mistake:
    """A mistake of an answer.

    Attributes
    ----------
    kind : "unwritten", "missing", "error", "wrong", "time": it does not come to an end, or "weak":
        right, but it does too little.
    message : one line.
    shown : the counterexample: HLO, inputs, and both results.
    location : of the function at which to set a breakpoint.
    again : runs the function on the counterexample once more.
    """

    kind: str
    message: str
    shown: str = ""
    location: FunctionLocation | None = None
    again: Callable[[], Any] | None = None

    def at(self, location: FunctionLocation | None) -> Mistake:
        """The same, with a breakpoint."""
        return replace(self, location=self.location or location)

    def __str__(self) -> str:
        """All that there is to see."""
        return f"{self.message}\n\n{self.shown}".strip() if self.shown else self.message


class ToldError(Exception):
    """An exception of a student's function in another process.

    Attributes
    ----------
    mistake : as that process tells it.
    """

    def __init__(self, mistake: Mistake, text: str) -> None:
        super().__init__(text)
        self.mistake = mistake


class ToldRefusalError(ToldError, ValueError):
    """An exception by which a function refuses its arguments."""


class ToldHloError(HloError):
    """An error of ours that a student's function has met in another process."""

    def __init__(self, mistake: Mistake, code: str, text: str) -> None:
        super().__init__(code, text)
        self.mistake = mistake


def unwritten(name: str) -> Mistake:
    """The mistake of a stub that is not written yet."""
    return Mistake("unwritten", f"{name} is {UNWRITTEN}")


def raised(name: str, error: BaseException, path: Path | None, shown: str = "") -> Mistake:
    """The mistake of a function that raises."""
    if isinstance(error, ToldError | ToldHloError):
        return replace(error.mistake, shown=shown)
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) and cause not in causes:
        causes.append(cause)
    if any(isinstance(cause, NotImplementedError) for cause in causes):
        return unwritten(name)
    frame = frame_of(error, path)
    line = f" in line {frame.lineno}" if frame else ""
    if isinstance(error, CallTooLongError):
        message = f"{name} has not come to an end after {CALL_SECONDS} s{line and ','}{line}"
        return Mistake("time", message, shown)
    if isinstance(error, ResultTypeError):
        return Mistake("error", f"{name} {error}", shown)
    message = str(error).partition("\n")[0]
    # A debugger stops where the message points.
    where = FunctionLocation(path.name, frame.lineno or 1, frame.name) if frame and path else None
    return Mistake("error", f"{name} raises {type(error).__name__}{line}: {message}", shown, where)


def frame_of(error: BaseException, path: Path | None) -> traceback.FrameSummary | None:
    """The place in a file at which an error arose."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if path and Path(f.filename) == path]
    return own[-1] if own else None


def case_text(case: Case, want: Any, got: Any) -> str:
    """A module with its inputs, the expected results, and the actual ones."""
    parts = [f"{case.module}".rstrip()]
    argument_lines = [
        f"// %{p.name} = {value_text(value)}"
        for p, value in zip(case.module.entry.parameters, case.arguments or (), strict=False)
    ]
    parts += ["\n".join(argument_lines)] if argument_lines else []
    parts.append(f"// expected  {value_text(want)}\n// yours     {value_text(got)}")
    return "\n\n".join(parts)


def value_text(value: Any) -> str:
    """An array with its type, in one line where it is small."""
    if isinstance(value, np.ndarray | np.generic):
        array: Any = np.asarray(cast("Any", value))
        flat = np.array2string(array, separator=", ", threshold=40)
        return f"{array.dtype}[{','.join(map(str, array.shape))}] {flat}"
    return str(value)
