"""Holds a student's pass or rules against the interpreter, and counts their rewrites."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import hlo
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.finding import Mistake, ToldError, raised, unwritten
from hlo_tools.exercises.limits import CallTooLongError, call_limited
from hlo_tools.own_passes import Promising, as_pass
from hlo_tools.search.checking.aim import aim_of
from hlo_tools.search.checking.search import search, smallest
from interpreter.numbers.compare import BITS
from optimizer.log import Log
from optimizer.observers import promise_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hlo.instruction import Module
    from hlo_tools.exercises.exercise import SearchEffort, Submission
    from hlo_tools.search.checking.failure import Failure
    from interpreter.numbers.compare import Promise
    from optimizer.log import Pass


@cache
def student_pass(answer: Submission, name: str) -> Pass:
    """A student's pass, class of a pass, rule or list of rules, as a pass."""
    value = answer[name]
    return as_pass(str(answer.path or name), name, value)


@inside
def rewritten(answer: Submission, name: str, module: Module, fuel: int | None) -> Any:
    """The module that a student's pass makes."""
    return student_pass(answer, name).run(module, Log(fuel=fuel))


@dataclass(frozen=True)
class PassApart:
    """A student's pass that runs where the answer is.

    Attributes
    ----------
    runs : it there, on a module and with fuel.
    """

    answer: Submission
    name: str
    runs: Callable[..., Any] = rewritten
    promise: Promise = BITS

    def run(self, module: Module, log: Log) -> Module:
        """The module that the pass makes."""
        return self.runs(self.answer, self.name, module, log.fuel)


def check_pass(
    answer: Submission, name: str, own: Any, effort: SearchEffort, demands: Sequence[Demand] = ()
) -> Mistake | None:
    """The mistake of a pass: a value that it changes, or work that it leaves undone.

    Parameters
    ----------
    own : the project's, whose promise the student's must keep.
    """
    if answer[name] is None:
        return unwritten(name)
    ours = as_pass(name, name, own)
    if answer.is_apart:
        apart = PassApart(answer, name, promise=promise_of(ours))
        return wrong_pass(answer, apart, effort, demands, ours)
    pass_ = Promising(student_pass(answer, name), promise_of(ours))
    return wrong_pass(answer, pass_, effort, demands, pass_, name)


def wrong_pass(
    answer: Submission,
    pass_: Pass,
    effort: SearchEffort,
    demands: Sequence[Demand],
    like: Pass,
    name: str = "",
) -> Mistake | None:
    """The mistake of a pass.

    Parameters
    ----------
    like : a pass for which modules are made; one that is apart cannot be read.
    name : in the answer; by default the pass's own.
    """
    name = name or pass_.name
    for demand in demands:
        if mistake := demand.unmet(pass_, name, answer.path):
            return mistake
    failure, _ = search(
        pass_, effort.examples, modules=[d.module() for d in demands], aim=aim_of(like)
    )
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
        except (NotImplementedError, ToldError, CallTooLongError) as error:
            mistake = raised(name, error, path, f"// before\n{before}".rstrip())
            return mistake if mistake.kind != "error" else None
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
                noun = f"{opcode} instructions" if opcode else "instructions"
                message = f"{name} leaves {count} {noun} where {most} would do: {self.why}"
                return Mistake("weak", message, shown, again=lambda: pass_.run(before, Log()))
        return None
