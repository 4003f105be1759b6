"""Holds a student's pass or rules against the interpreter, and counts their rewrites."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import hlo
from hlo_tools.checking.search import search, smallest
from hlo_tools.exercises.finding import Mistake, raised, unwritten
from hlo_tools.exercises.limits import CallTooLongError, call_limited
from hlo_tools.own_passes import as_pass
from optimizer.log import Log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hlo.instruction import Module
    from hlo_tools.checking.failure import Failure
    from hlo_tools.exercises.exercise import SearchEffort, Submission
    from optimizer.log import Pass


def student_pass(answer: Submission, name: str) -> Pass:
    """A student's pass, class of a pass, rule or list of rules, as a pass."""
    value = answer[name]
    return as_pass(str(answer.path or name), name, value)


def check_pass(
    answer: Submission, name: str, effort: SearchEffort, demands: Sequence[Demand] = ()
) -> Mistake | None:
    """The mistake of a pass: a value that it changes, or work that it leaves undone."""
    if answer[name] is None:
        return unwritten(name)
    pass_ = student_pass(answer, name)
    for demand in demands:
        if found := demand.unmet(pass_, name, answer.path):
            return found
    failure, _ = search(pass_, effort.examples, given=[d.module() for d in demands])
    if failure is None:
        return None
    if "NotImplementedError" in failure.message:
        return unwritten(name)
    if effort.seconds:
        failure = smallest(pass_, failure, seconds=effort.seconds)
    return of_failure(pass_, name, failure)


def of_failure(pass_: Pass, name: str, failure: Failure) -> Mistake:
    """A failure of `hlo check` as a finding."""
    first, _, rest = str(failure).partition("\n\n")
    kind = "error" if failure.kind == "error" else "wrong"
    return Mistake(kind, f"{name}: {first}", rest, again=lambda: pass_.run(failure.before, Log()))


class Demand:
    """A module, and how many instructions of an opcode may be left of it.

    Parameters
    ----------
    most : by opcode; "" counts all.
    why : what a pass that leaves more is told.
    least : how many must be left, by opcode.
    """

    def __init__(
        self,
        text: str,
        most: dict[str, int] | None = None,
        why: str = "",
        least: dict[str, int] | None = None,
    ) -> None:
        self.text, self.most, self.why, self.least = text, most or {}, why, least or {}

    def module(self) -> Module:
        """The module."""
        return hlo.parse(self.text)

    def unmet(self, pass_: Pass, name: str, path: Path | None = None) -> Mistake | None:
        """The mistake of a pass that leaves too much."""
        before = self.module()
        try:
            with call_limited():
                after: Any = pass_.run(before, Log())
            left = Counter(i.opcode for i in after.instructions())
        except NotImplementedError:
            return unwritten(name)
        except CallTooLongError as error:
            return raised(name, error, path, f"// before\n{before}".rstrip())
        except Exception:
            # The search tells it better.
            return None
        shown = f"// before\n{before}\n// after\n{after}".rstrip()
        for opcode, least in self.least.items():
            if left[opcode] < least:
                message = f"{name} removes {opcode}, {self.why}"
                return Mistake("wrong", message, shown, again=lambda: pass_.run(before, Log()))
        for opcode, most in self.most.items():
            count = left[opcode] if opcode else left.total()
            if count > most:
                what = f"{opcode} instructions" if opcode else "instructions"
                message = f"{name} leaves {count} {what} where {most} would do: {self.why}"
                return Mistake("weak", message, shown, again=lambda: pass_.run(before, Log()))
        return None
