"""What may go wrong with a case, and how it is caught: exceptions, hangs, and whatever is told."""

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlo import HloError, Module

ROOT = Path(__file__).parents[2]
# A step that takes longer is a mistake, but for evaluation: a loop may be endless.
SECONDS = 10
EVALUATION = 2


class TooLongError(Exception):
    """A step has taken its time."""


@dataclass(frozen=True)
class Platform:
    """What compiles modules, for the processor.

    Attributes
    ----------
    language : "C", or "CUDA", whose kernels run on the processor.
    target : of the optimizer.
    checked : every access of a kernel is watched.
    """

    language: str
    target: str
    checked: bool = False


C = Platform("C", "cpu")
CUDA = Platform("CUDA", "gpu")


@dataclass(eq=False)
class Mistake(Exception):  # noqa: N818  it is PyHLO's
    """Something that must not happen.

    Attributes
    ----------
    kind : "exception", "hang", "print", "late", "difference", "argument" or "crash".
    place : where, so that each mistake is kept once: a file and line, or a code, or opcodes.
    message : in a line or more.
    """

    kind: str
    place: str
    message: str


@dataclass
class Case:
    """A module that is verified, with arguments, and its value.

    Attributes
    ----------
    platform : what compiles it.
    """

    module: Module
    arguments: list[Any]
    value: Any = None
    optimized: Module | None = None
    platform: Platform = C


class Skipped(Exception):  # noqa: N818  it is none
    """A module is not run, for a reason."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError after some seconds of this process: others may be busy too."""

    def ring(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def guarded(step: str, seconds: float = SECONDS) -> Iterator[None]:
    """Iteration exceptions other than HloError into mistakes."""
    try:
        with limit(seconds):
            yield
    except (HloError, Mistake, Skipped):
        raise
    except TooLongError as error:
        place = f"{step}: {_line_of(error)}"
        raise Mistake("hang", place, f"{step} takes more than {seconds} seconds") from None
    except Exception as error:
        told = "".join(traceback.format_exception(error)[-6:])
        place = f"{type(error).__name__} {_line_of(error)}"
        raise Mistake("exception", place, f"{step}: {told}") from None


def _line_of(error: BaseException) -> str:
    """The innermost line of PyHLO's that raised it, without its number where it may move."""
    rooms = (
        "hlo/",
        "interpreter/",
        "optimizer/",
        "codegen/",
        "emit_c/",
        "emit_cuda/",
        "hlo_tools/",
    )
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        name = frame.filename.removeprefix(f"{ROOT}/")
        if name.startswith(rooms):
            found = f"{name} {frame.name}"
    return found
