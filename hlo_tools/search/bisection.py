"""Bisection of the optimizer: which rewrite makes a module's value wrong.

A rewrite whose promise is weaker than BITS is judged where it is done: if the new instruction's
value is the old one's as far as it promises, the search goes on after it. What rounding becomes
later in the module is no mistake of the rewrite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo_tools.search.orders import Judge, halving
from interpreter import evaluate
from interpreter.numbers.compare import BITS, Difference, Promise, compare
from optimizer.log import Event, Log, Pass, Silent
from optimizer.observers import Trace, promise_of
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from hlo.instruction import Module
    from interpreter.engine.frame import Evaluation

Inputs = list[list[Any]]  # the arguments of each device


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite after which the module's value differs, and its promise."""

    event: Event
    promise: Promise
    difference: Difference

    @property
    def title(self) -> str:
        """The rewrite's number, pass and rule."""
        return f"rewrite {self.event.number}, {'.'.join(self.event.path)}: {self.event.rule}"


class Promises(Silent):
    """Keeps the promises of the passes that ran, by name."""

    def __init__(self) -> None:
        self.of_passes: dict[str, Promise] = {}

    def before(self, pass_: Pass, module: Module, log: Log) -> None:  # noqa: ARG002
        """Keep a pass's promise."""
        self.of_passes[pass_.name] = promise_of(pass_)

    def of(self, event: Event) -> Promise:
        """The promise of a rewrite: its rule's, or its pass's if it is no rule's."""
        return event.by.promise if isinstance(event.by, Rule) else self.of_passes[event.path[-1]]


class Search:
    """A module with the rewrites that passes do in it.

    Attributes
    ----------
    events : the rewrites in order.
    kept : those that changed the module's value, each no further than it promises.
    """

    def __init__(self, module: Module, passes: Pass, inputs: Inputs) -> None:
        self.module, self.passes, self.inputs = module, passes, inputs
        self.promises, trace = Promises(), Trace()
        self.last = Log(observers=[trace, self.promises]).run(passes, module)
        self.events = trace.events
        self.kept: list[Rewrite] = []

    def after(self, fuel: int) -> Module:
        """The module after so many rewrites."""
        return Log(fuel=fuel).run(self.passes, self.module)

    def blamed(self, tolerance: Promise) -> Rewrite | None:
        """The first rewrite that makes the module's value wrong by itself; None if none does."""
        done, before = 0, self.module
        while True:
            want = evaluate(before, per_device=self.inputs)

            def difference(module: Module, want: list[Any] = want) -> Difference | None:
                return first_difference(module, self.inputs, want, tolerance)

            if (last := difference(self.last)) is None:
                return None
            judge = Judge[int, Difference](lambda n: difference(self.after(n)))
            done, broken = halving(done, len(self.events), last, judge)
            event, module = self.events[done - 1], self.after(done)
            rewrite = Rewrite(event, self.promises.of(event), broken)
            if not self.keeps_promise(rewrite, self.after(done - 1), module):
                return rewrite
            self.kept.append(rewrite)
            before = module

    def keeps_promise(self, rewrite: Rewrite, before: Module, after: Module) -> bool:
        """Whether a new instruction's value is that of the old one, as far as is promised."""
        event, promise = rewrite.event, rewrite.promise
        if promise == BITS or not event.new:
            return False
        old = first_values(before, event.old.name, self.inputs)
        new = first_values(after, event.new[-1].name, self.inputs)
        if not old or len(old) != len(new):
            return False
        return all(
            compare(value, want, promise) is None for value, want in zip(new, old, strict=True)
        )


def first_values(module: Module, name: str, inputs: Inputs) -> list[Any]:
    """The first value of an instruction on each device; in a loop, that of the first iteration."""
    values: dict[tuple[int, int], Any] = {}

    def observe(event: Evaluation) -> None:
        if event.instr.name == name:
            values.setdefault((event.device.replica, event.device.partition), event.value)

    evaluate(module, per_device=inputs, observe=observe)
    return [values[device] for device in sorted(values)]


def first_difference(
    module: Module, inputs: Inputs, want: Any, tolerance: Promise
) -> Difference | None:
    """The first difference of two modules' values."""
    for got, expected in zip(evaluate(module, per_device=inputs), want, strict=True):
        if difference := compare(got, expected, tolerance):
            return difference
    return None
