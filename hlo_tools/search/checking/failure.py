"""Holds a pass against the interpreter on one module.

A pass is wrong if it raises, makes a module that the verifier refuses, changes a value by more than
it promises, loses an effect, breaks the contract with callers, lets something run before what it
must wait for, lets values overwrite each other, finds something to do in what it made itself, or
rewrites although there is no fuel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo_tools.own_passes import Promising
from hlo_tools.search.checking.effects import (
    broken_contract,
    different_effects,
    fed_devices,
    lost_effect,
    lost_sharding,
)
from hlo_tools.search.checking.errors import location_of, malformed, told
from hlo_tools.search.checking.judging import difference
from hlo_tools.search.checking.left_open import leaves_open, malicious
from hlo_tools.search.checking.order import broken_memory, broken_order
from hlo_tools.values.bounded import (
    MOST_EVENTS,
    MOST_EVENTS_AFTER,
    EndlessError,
    devices_of,
    rounds,
    run,
)
from interpreter.numbers.compare import compare
from optimizer.analysis.runs import runs as runs_of
from optimizer.log import Log, Silent
from optimizer.loops.while_loop_trip_count_annotator import WhileLoopTripCountAnnotator
from optimizer.observers import devices_for, promise_of
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interpreter.engine.device import Device
    from interpreter.numbers.compare import Promise
    from optimizer.log import Event, Observer, Pass

Arguments = list[Any]
# How often a module is run with other choices where XLA leaves one, to see whether they matter.
CHOICES = 8
OPEN = "the value changes where an unstable sort, or a claim about indices, leaves it open"
# The code of a rule that makes too many instructions: of that module, so many rewrites are tested.
GROWS = "HLO159"
FEW = 50


@dataclass(frozen=True)
class Failure:
    """A module on which a pass is wrong.

    Attributes
    ----------
    kind : "error", "invalid", "value", "unstable", "fuel", or one of `PROMISES`.
    message : what is wrong, in a line.
    before, after : the module and what the pass made of it; None where it raised.
    arguments : of the module.
    raised : the exception, where the pass raised one.
    """

    kind: str
    message: str
    before: Module
    arguments: Arguments
    after: Module | None = None
    raised: BaseException | None = None

    @property
    def instructions(self) -> int:
        """The number of instructions of the module, parameters and called computations included."""
        return sum(1 for _ in self.before.instructions())

    def __str__(self) -> str:
        """All that there is to see."""
        parts = [self.message, f"// before\n{self.before}".rstrip()]
        parts += [f"// after\n{self.after}".rstrip()] if self.after else []
        parts += [
            f"// %{p.name} = {value}"
            for p, value in zip(self.before.entry.parameters, self.arguments, strict=True)
        ]
        return "\n\n".join(parts)


class KeptPromise(Silent):
    """Observes the rules that a pass applies; the promise is the weakest of theirs and its own.

    A pass that rounds may have rules that promise less than most, and say so. One that keeps every
    bit may have none, and no rule forgives a pass that is held against a promise from elsewhere.

    Attributes
    ----------
    elementwise : whether elementwise instructions became such. Then an element may not be off by
        the rounding error of a larger one, as it may where sums are added up in another order.
    """

    def __init__(self, pass_: Pass) -> None:
        self.weakest, self.elementwise = promise_of(pass_), True
        self.weakens = rounds(self.weakest) and not isinstance(pass_, Promising)

    @property
    def promise(self) -> Promise:
        """The promise of the pass, by all that it did."""
        return replace(self.weakest, of_largest=self.weakest.of_largest and not self.elementwise)

    def event(self, event: Event, log: Log) -> None:  # noqa: ARG002
        """Take in the promise of one rewrite's rule."""
        if self.weakens and isinstance(event.by, Rule) and self.weakest.keeps(event.by.promise):
            self.weakest = event.by.promise
        self.elementwise &= all(
            i.row.elementwise or not i.operands or i.opcode == "broadcast"
            for i in (event.old, *event.new)
        )


@dataclass
class Outcome:
    """The outcome of a pass on one module.

    Attributes
    ----------
    failure : what is wrong; None if nothing is.
    changed : whether the pass changed the module.
    compared : whether its value before and after could be compared.
    stopped : the reason why only its first rewrites were made; "" if all were.
    """

    failure: Failure | None
    changed: bool
    compared: bool = False
    stopped: str = ""


def find_failure(
    pass_: Pass,
    module: Module,
    *arguments: Arguments,
    most: int = MOST_EVENTS,
    most_after: int = MOST_EVENTS_AFTER,
) -> Failure | None:
    """The failure of a pass on one module; None if there is none.

    Parameters
    ----------
    arguments : one or more lists of arguments for the module's entry computation.
    most, most_after : instructions that may run, before and after the pass.
    """
    return try_pass(pass_, module, arguments, most=most, most_after=most_after).failure


def try_pass(
    pass_: Pass,
    module: Module,
    arguments: Iterable[Arguments],
    observers: Sequence[Observer] = (),
    most: int = MOST_EVENTS,
    most_after: int = MOST_EVENTS_AFTER,
) -> Outcome:
    """Run a pass on one module, and see whether it is wrong.

    Parameters
    ----------
    arguments : lists of arguments, all of which are taken only if the pass changes something.
    observers : are told what it rewrites.
    most, most_after : instructions that may run, before and after the pass.
    """
    lists, promise, stopped = iter(arguments), KeptPromise(pass_), ""
    first = next(lists)
    try:
        try:
            after: Any = pass_.run(module, Log([*observers, promise]))
        except HloError as error:
            if error.code != GROWS:
                raise
            stopped = error.message
            after = pass_.run(module, Log([promise], fuel=FEW))
    except (Exception, SystemExit) as error:
        if isinstance(error, HloError) and not runs(module, first):
            # A fault of the module itself may be told by anybody who looks at it.
            return Outcome(None, changed=False)
        message = f"it raises {told(error)}{location_of(error)}"
        return Outcome(Failure("error", message, module, first, raised=error), changed=True)
    if after is not module and (wrong := malformed(after)):
        shown = after if isinstance(after, Module) else None
        return Outcome(Failure("invalid", wrong, module, first, shown), changed=True)
    failure, compared, every = None, False, [first]
    if after is not module:
        every += lists
        limits = most, most_after, devices_for(pass_)
        failure, compared = compare_values(promise.promise, module, after, every, *limits)
    problem = broken_promise(module, after) if failure is None else None
    if failure is None and problem is None and not stopped:
        problem = disobedience(pass_, module, after)
    if problem is not None:
        failure = Failure(*problem, module, first, after)
        if failure.kind == "unstable":
            failure = wrong_start(pass_, module, every, most, most_after) or failure
    return Outcome(failure, after is not module, compared, stopped)


def compare_values(
    promise: Promise,
    module: Module,
    after: Module,
    arguments: Sequence[Arguments],
    most: int,
    most_after: int,
    devices: int | None = None,
) -> tuple[Failure | None, bool]:
    """Where a result gives other values, and whether there were any to compare.

    Parameters
    ----------
    devices : on so many; None for as many as the module is for.
    """
    compared, count = False, devices or devices_of(module)
    for given_arguments in arguments:
        on = fed_devices(module, count)
        try:
            want = run(module, given_arguments, most, on)
        except Exception:
            # The module itself fails on these arguments, so there is nothing to compare.
            continue
        compared = True
        problem = wrong_result(promise, module, after, given_arguments, want, most_after, on)
        if problem is None and leaves_open(after):
            problem = wrong_choice(promise, module, after, given_arguments, want, count)
        if problem is not None:
            return Failure(*problem, module, given_arguments, after), compared
    return None, compared


def wrong_choice(
    promise: Promise, module: Module, after: Module, arguments: Arguments, want: Any, devices: int
) -> tuple[str, str] | None:
    """Kind and message if a result has another value where XLA leaves its value open.

    Nothing follows where the value of the module itself is open.
    """

    def value_of(some: Module, seed: int) -> Any:
        with malicious(seed):
            return run(some, arguments, MOST_EVENTS_AFTER, devices)

    for seed in range(CHOICES if leaves_open(module) else 1):
        try:
            if compare(value_of(module, seed), want):
                return None
        except Exception:
            return None
    change = difference(module, after, arguments, promise, want, value_of(after, CHOICES))
    return ("value", f"{OPEN}: {change}") if change else None


def wrong_start(
    pass_: Pass, module: Module, arguments: Sequence[Arguments], most: int, most_after: int
) -> Failure | None:
    """A failure of a pass's first rewrite alone; None if that rewrite is right.

    The question is for passes that rewrite for ever, whose last rewrite may undo the first: two
    exchanges of the operands of `subtract` keep the value, and one does not. If the pass raises an
    exception here, the failure that is known already is the one to report.
    """
    promise = KeptPromise(pass_)
    try:
        start = pass_.run(module, Log([promise], fuel=1))
    except Exception:
        return None
    if malformed(start):
        return None
    limits = most, most_after, devices_for(pass_)
    failure, _ = compare_values(promise.promise, module, start, arguments, *limits)
    return failure and replace(failure, message=f"after its first rewrite, {failure.message}")


def runs(module: Module, arguments: Arguments) -> bool:
    """Whether a module gives anything for some arguments."""
    try:
        run(module, arguments)
    except Exception:
        return False
    return True


def wrong_result(
    promise: Promise,
    module: Module,
    after: Module,
    arguments: Arguments,
    want: Any,
    most: int,
    before: Sequence[Device],
) -> tuple[str, str] | None:
    """Kind and message if a result does not give the value that is wanted.

    Parameters
    ----------
    before : the devices on which the module has run.
    """
    devices = fed_devices(module, len(before))
    try:
        got = run(after, arguments, most, devices)
    except EndlessError as error:
        # Loops of which each iteration is counted only take long.
        return None if steps(after) > most else ("value", f"its result does not end: {error}")
    except Exception as error:
        return "value", f"its result fails: {told(error)}"
    change = difference(module, after, arguments, promise, want, got)
    if change:
        return "value", f"the value changes: {change}"
    wrong = different_effects(before, devices, promise)
    return ("effect", wrong) if wrong else None


def steps(module: Module) -> int:
    """The number of instructions that a module runs, by the trip counts of its loops."""
    noted = WhileLoopTripCountAnnotator().run(module, Log())
    return sum(count * len(c.instructions) for c, count in runs_of(noted).items())


# By kind; each tells how it is broken, or nothing.
PROMISES = {
    "effect": lost_effect,
    "contract": broken_contract,
    "order": broken_order,
    "memory": broken_memory,
    "sharding": lost_sharding,
}


def broken_promise(module: Module, after: Module) -> tuple[str, str] | None:
    """Kind and message if a result breaks a promise of all passes besides values."""
    if after is module:
        return None
    for kind, check in PROMISES.items():
        if broken := check(module, after):
            return kind, broken
    return None


def disobedience(pass_: Pass, module: Module, after: Module) -> tuple[str, str] | None:
    """Kind and message if a pass has work left in its own result, or works without fuel."""
    try:
        again = pass_.run(after, Log())
        hungry = pass_.run(module, Log(fuel=0))
    except Exception as error:
        return "error", f"a second run raises {told(error)}"
    if again is not after:
        same = str(again) == str(after)
        shown = "gives an equal module, but not the same object" if same else "changes it again"
        return "unstable", f"a second run, on its own result, {shown}"
    if hungry is not module:
        return (
            "fuel",
            "it rewrites without fuel: it must ask `log.rewrite(...)` before each rewrite",
        )
    return None
