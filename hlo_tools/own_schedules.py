"""Schedules of the user's own: `my_schedule.py:tiled`, applied to the loops of a kernel.

A schedule is a function of two arguments: `body`, which draws names, and a loop. It gives the
statements in the loop's place, which it makes with the primitives of `codegen.schedule`; these
refuse what is not legal. Whatever else it does is found by `codegen.interpret`, which runs the
loops before and after, where they are short enough.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, cast

from codegen.expressions import Literal, Load, Name
from codegen.interpret import OutsideError, UnsupportedError, final_memory
from codegen.printer import shown
from codegen.schedule.extents import expect_inside
from codegen.schedule.legality import IllegalError
from codegen.schedule.order import expect_bindable
from codegen.statements import For, Let, LocalVariable, Statement, nested
from emit_c.kernels.passes import KernelPass
from hlo.errors.error import HloError
from hlo.support.own_code import at_line, blamed, is_from, line_of, named_in_file, own_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from codegen.elements.body import Body
    from codegen.elements.kernel import Kernel

# Statements of a kernel that are run to compare its memory: some tenths of a second.
_STEPS = 100_000
_PRIMITIVES = "primitives keep all values; a loop that is changed without them may not"
_EXAMPLE = "a schedule is a function of `body` and a loop that returns a loop, or statements"


def own_schedule(text: str, kernel: str | None = None) -> KernelPass:
    """The kernel pass that applies a schedule, as `FILE.py:NAME` names it.

    Parameters
    ----------
    kernel : the instruction whose kernel is scheduled; all kernels are, if none is named.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO204 if it has no such name, HLO206 if it fails, or if
        what it has is no function.
    """
    if not text.rpartition(":")[0] and not text.endswith(".py"):
        note = "write FILE.py:NAME"
        raise HloError("HLO204", f"`{text}` names no schedule", notes=[note])
    path, name, function = named_in_file(text, "schedule", _EXAMPLE, inspect.isfunction)
    if not inspect.isfunction(function):
        raise at_line(Path(path), line_of(function), f"`{name}` is no function", _EXAMPLE)
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        message = f"`{name}` does not take two arguments"
        raise at_line(Path(path), line_of(function), message, _EXAMPLE) from None
    schedule = OwnSchedule(Path(path), name, function, kernel)
    why = " ".join((function.__doc__ or "A schedule of the user's own.").split())
    return KernelPass(text, why, schedule.run)


_NAMES = "`body.name` draws names that are not taken"
_NO_LOOP = (
    "where `divide` cuts a tail off, it gives the statements of a short block beside the loop over "
    'blocks; with tail="guard" it gives one loop'
)


@dataclass(frozen=True, slots=True)
class OwnSchedule:
    """A schedule, whose exceptions become errors at a line of its file.

    Attributes
    ----------
    kernel : as of `own_schedule`.
    """

    path: Path
    name: str
    function: Callable[[Body, For], Any]
    kernel: str | None

    def run(
        self, kernel: Kernel, name: str, statements: Sequence[Statement]
    ) -> Sequence[Statement]:
        """A kernel's statements, of which the schedule has made others of each outermost loop.

        Raises
        ------
        HloError
            HLO206 if the schedule raises anything, gives no statements, or statements that can't
            be, HLO153 if the kernel would leave other values in memory.
        """
        if self.kernel not in (None, name):
            return statements
        scheduled: list[Statement] = []
        for s in statements:
            scheduled += self._scheduled(kernel.body, s) if isinstance(s, For) else [s]
        self._expect_sound(scheduled, {each.name for each in kernel.arguments.values()})
        self._compare(name, statements, scheduled)
        return scheduled

    def _expect_sound(self, made: Sequence[Statement], arguments: Collection[str]) -> None:
        """Raise unless arrays have the names and the sizes, and loops the indices, that they can.

        Raises
        ------
        HloError
            HLO206.
        """
        line = line_of(self.function)
        for s in nested(made):
            if isinstance(s, Let | LocalVariable | For) and s.name in arguments:
                message = f"`{self.name}` declares {s.name}, which is an array of the kernel's"
                raise at_line(self.path, line, message, _NAMES)
        try:
            expect_inside(made)
            expect_bindable(made)
        except IllegalError as error:
            raise at_line(self.path, line, f"not legal: {error}") from error

    def _scheduled(self, body: Body, loop: For) -> list[Statement]:
        try:
            result: Any = self.function(body, loop)
        except IllegalError as error:
            raise blamed(self.path, error, f"not legal: {error}") from error
        except (Exception, SystemExit) as error:
            if not is_from(str(self.path), error):
                raise
            reason = _given_no_loop(self.path, error)
            raise blamed(self.path, error, reason, *([_NO_LOOP] if reason else ())) from error
        listed: Any = [result] if isinstance(result, Statement) else result
        if isinstance(listed, list | tuple):
            items = list(cast("Sequence[Any]", listed))
            if all(isinstance(s, Statement) for s in items):
                return items
        message = f"`{self.name}` returns {type(result).__name__}, not statements"
        raise at_line(self.path, line_of(self.function), message, _EXAMPLE)

    def _compare(
        self, kernel: str, before: Sequence[Statement], after: Sequence[Statement]
    ) -> None:
        """Run both; afterwards, threads take turns at random, and lanes do each statement at once.

        Raises
        ------
        HloError
            HLO153 if an element of an array is not the same, HLO206 if a local array has not all
            elements that are accessed.
        """
        try:
            want = final_memory(before, steps=_STEPS)
            got = final_memory(after, random=Random(0), lanes=True, steps=2 * _STEPS)
        except UnsupportedError as error:
            compared = f"{kernel}: loops before and after the schedule are not run and compared"
            print(f"{compared}, as {error}; try smaller arrays, too", file=sys.stderr)
            return
        except OutsideError as error:
            line = line_of(self.function)
            raise at_line(self.path, line, f"`{self.name}` is wrong: {error}") from error
        for array in dict.fromkeys((*want, *got)):
            here, there = want.get(array, {}), got.get(array, {})
            wrong = next((n for n in (*here, *there) if here.get(n) != there.get(n)), None)
            if wrong is not None:
                element = shown(Load(Name(array), Literal(wrong)))
                message = f"`{self.name}` changes what the kernel of {kernel} leaves in {element}"
                line = line_of(self.function)
                raise at_line(self.path, line, message, _PRIMITIVES, code="HLO153")


def _given_no_loop(path: Path, error: BaseException) -> str:
    """A message where a primitive has failed as what it was given is no loop; empty otherwise."""
    own = own_frames(path, error)[-1].filename
    calls = pairwise(frame for frame, _ in traceback.walk_tb(error.__traceback__))
    called = [after for before, after in calls if before.f_code.co_filename == own]
    names = called[-1].f_locals if called else {}
    if "loop" not in names or isinstance(names["loop"], For):
        return ""
    kind = type(names["loop"]).__name__
    return f"`{called[-1].f_code.co_name}` takes a loop, and is given a {kind}"
