"""Makes the viewer's page of a text, or a list of its errors, in a process with limits.

`shown` does it, and `Workers` call it, each in a process of its own: a new text ends the process of
the one before. Processes are forked from one that has loaded everything and has shown a text
already, so that each starts in some milliseconds.
"""

from __future__ import annotations

import multiprocessing
import re
import sys
import traceback
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from hlo.errors.error import HloError
from hlo_tools.drawing.page.page import page_of
from hlo_tools.lsp.edited_text import EditedText
from hlo_tools.own_passes import find_pipeline

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from hlo.instruction import Module

PYTHON: Final = re.compile(r"^(?:import|from|def|@)\b", re.MULTILINE)
# In a Python text: the function that JAX traces, and an example of its arguments.
FUNCTION, ARGUMENTS = "program", "arguments"


@dataclass(frozen=True)
class ExploredText:
    """A text, and how it is to be shown.

    Attributes
    ----------
    text : HLO, StableHLO, or Python with a function `program` and its `arguments`.
    passes : as `--passes` takes them; empty for the standard pipeline of the target.
    assembly : whether with assembly, or PTX, which takes a compiler a second or more.
    runs_python : whether a Python text may be run: somebody typed it, or agreed to it.
    """

    text: str
    passes: str = ""
    target: str = "cpu"
    assembly: bool = False
    runs_python: bool = False


@dataclass(frozen=True)
class Problem:
    """An error, and the characters of the text that it underlines."""

    message: str
    start: int
    end: int
    code: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExploredPage:
    """The page of a text, or its errors.

    Attributes
    ----------
    page : of the viewer; empty where the text has errors.
    asks : the text is Python, which is not run before somebody agrees.
    """

    page: str = ""
    problems: tuple[Problem, ...] = ()
    asks: bool = False


def shown(wanted: ExploredText) -> ExploredPage:
    """The page of a text, or its errors."""
    text = wanted.text
    if not text.strip():
        return ExploredPage()
    if PYTHON.search(text):
        if not wanted.runs_python:
            return ExploredPage(asks=True)
        try:
            text = lowered(text)
        except Exception as error:
            return ExploredPage(problems=(python_problem(wanted.text, error),))
    edited = EditedText(text, "text")
    if edited.errors:
        return ExploredPage(problems=tuple(problem(edited, error) for error in edited.errors))
    assert edited.module is not None
    try:
        return ExploredPage(viewed(edited.module, wanted))
    except HloError as error:
        return ExploredPage(problems=(problem(edited, error),))


def viewed(module: Module, wanted: ExploredText) -> str:
    """The viewer's page of a module."""
    target = "gpu" if wanted.target == "gpu" else "cpu"
    if ".py" in wanted.passes and not wanted.runs_python:
        raise HloError("HLO204", "passes of a file of Python run once something is typed")
    passes = find_pipeline(wanted.passes) if wanted.passes.strip() else None
    return page_of(module, passes, target, assembly=wanted.assembly)


def problem(edited: EditedText, error: HloError) -> Problem:
    """An error of HLO, with its place in the text if it is of this text."""
    inside = error.span is not None and error.span.source.text == edited.text
    start, end = edited.stretch(error) if inside else (0, 0)
    return Problem(error.message, start, end, error.code, error.notes)


def lowered(text: str) -> str:
    """The StableHLO that JAX makes of a Python text's function.

    Raises
    ------
    ValueError
        if the text has no function `program` or no tuple `arguments`; and whatever the text raises.
    """
    names: dict[str, Any] = {"__name__": "explored"}
    exec(compile(text, "text", "exec"), names)
    for name in (FUNCTION, ARGUMENTS):
        if name not in names:
            reason = f"the text defines a function `{FUNCTION}` and a tuple `{ARGUMENTS}` for it"
            raise ValueError(f"{reason}; there is no `{name}`")
    import jax  # noqa: PLC0415  takes a second, and few texts need it

    traced = cast("Any", jax).jit(names[FUNCTION]).lower(*names[ARGUMENTS])
    return str(traced.as_text())


def python_problem(text: str, error: Exception) -> Problem:
    """An exception of a Python text, at the last line of the text that led to it."""
    if isinstance(error, SyntaxError) and error.lineno:
        line = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno or 0 for f in reversed(frames) if f.filename == "text"), 0)
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: line - 1])) if line else 0
    end = start + len(lines[line - 1].rstrip("\n")) if line else start
    return Problem(f"{type(error).__name__}: {error}".partition("\n")[0], start, end)


# ------------------------------------------------------------------- processes

# The module from whose process workers are forked.
WARMED: Final = "hlo_tools.explore.warmed"
# Memory for a worker beyond what it begins with, in bytes.
MEMORY: Final = 4 << 30


class Workers:
    """Shows texts, each in a process; the next text ends the process of the one before.

    Parameters
    ----------
    seconds : the longest that a text may take.
    """

    def __init__(self, seconds: float = 20) -> None:
        self.seconds = seconds
        method = "forkserver" if sys.platform != "win32" else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload([WARMED])
            from multiprocessing import forkserver  # noqa: PLC0415  not on Windows

            # It loads while the browser starts.
            forkserver.ensure_running()
        self._lock = Lock()
        self._running: BaseProcess | None = None

    def show(self, wanted: ExploredText) -> ExploredPage:
        """The page of a text, or the reason why there is none."""
        ours, theirs = self._context.Pipe(duplex=False)
        process: BaseProcess = self._context.Process(target=_work, args=(theirs, wanted))
        with self._lock:
            self._end()
            process.start()
            self._running = process
        theirs.close()
        try:
            if ours.poll(self.seconds):
                return cast("ExploredPage", ours.recv())
            message = f"it takes more than {self.seconds:g} s: a smaller text will do"
        except EOFError:
            message = "it needs too much memory, or another text came"
        finally:
            with self._lock:
                if self._running is process:
                    self._end()
            ours.close()
        return ExploredPage(problems=(Problem(message, 0, 0),))

    def end(self) -> None:
        """End the process that runs, if there is one."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.join()
            self._running = None


def _work(answers: Connection, wanted: ExploredText) -> None:
    if sys.platform != "win32":
        import resource  # noqa: PLC0415  not on Windows

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))
    answers.send(shown_or_why_not(wanted))


def shown_or_why_not(wanted: ExploredText) -> ExploredPage:
    """The page of a text, or its errors, also where memory or PyHLO itself fails."""
    try:
        return shown(wanted)
    except MemoryError:
        message = "it needs too much memory"
    except Exception as error:
        traceback.print_exc()
        message = f"internal error: {type(error).__name__}: {error}".partition("\n")[0]
    return ExploredPage(problems=(Problem(message, 0, 0),))
