"""Looks for a module on which a pass is wrong, and counts the modules that were tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, islice
from random import Random
from time import process_time
from typing import TYPE_CHECKING, Any

from hlo.instruction import Module
from hlo_tools.generate.values import STYLES, sized
from hlo_tools.search.checking.aim import aim_of
from hlo_tools.search.checking.candidates import Candidates
from hlo_tools.search.checking.failure import Failure, find_failure, try_pass
from hlo_tools.search.orders import Judge, first
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.shrink import shrink
from hlo_tools.values.bounded import rounds
from interpreter.engine.elided import elided_untold
from optimizer.log import Silent
from optimizer.observers import promise_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hlo.instruction import Instruction
    from hlo_tools.search.checking.aim import Aim
    from hlo_tools.search.checking.failure import Outcome
    from interpreter.numbers.compare import Promise
    from optimizer.log import Event, Log, Pass

# Kinds of failure that leave values right. After one, the search goes on for a worse one.
MINOR = ("unstable", "fuel")
# How many modules to try then.
MORE = 25


@dataclass
class Tally:
    """The numbers of modules on which a pass was tried.

    Attributes
    ----------
    modules : all of them.
    changed : those that the pass changed.
    compared : those of the changed ones that could be run before and after the pass.
    right : those before the first on which the pass was wrong.
    stopped : by the reason, those on which rewriting had to be stopped.
    rewrites : by the name of a rewrite, how often the pass made it.
    known : the names of the pass's rules.
    """

    modules: int = 0
    changed: int = 0
    compared: int = 0
    right: int = 0
    stopped: Counter[str] = field(default_factory=Counter[str])
    rewrites: Counter[str] = field(default_factory=Counter[str])
    known: frozenset[str] = frozenset()

    def add(self, outcome: Outcome, rules: Sequence[str]) -> None:
        """Count one module, and the rules that were applied to it."""
        self.modules += 1
        self.changed += outcome.changed
        self.compared += outcome.compared
        self.rewrites.update(rules)
        self.stopped.update([outcome.stopped] * bool(outcome.stopped))

    @property
    def rules(self) -> int:
        """The number of its rules, as far as they are known."""
        return len(self.known | self.rewrites.keys()) if self.known else 0

    @property
    def never(self) -> list[str]:
        """Rules that were not applied."""
        return sorted(self.known - self.rewrites.keys())


@dataclass
class Rewrites(Silent):
    """An observer that remembers all rewrites: their rules, and what they replaced."""

    rules: list[str] = field(default_factory=list[str])
    replaced: list[Instruction] = field(default_factory=list[Any])

    def event(self, event: Event, log: Log) -> None:  # noqa: ARG002
        """Remember one rewrite."""
        self.rules.append(event.rule)
        self.replaced.append(event.old)


def search(
    pass_: Pass,
    examples: int,
    seed: int = 0,
    modules: Iterable[Module] = (),
    watch: Callable[[Tally], None] = lambda _: None,
    aim: Aim | None = None,
) -> tuple[Failure | None, Tally]:
    """Try a pass on modules until it is wrong on one.

    Parameters
    ----------
    examples : how many modules to make.
    modules : modules to try first.
    watch : is called after each module.
    aim : of the modules; by default that of the pass.

    Returns
    -------
    tuple of Failure or None, and Tally
        the failure as it was found; `smallest` reduces its module.
    """
    random = Random(seed)
    aim = aim or aim_of(pass_)
    candidates = Candidates(aim, random, rounds=rounds(promise_of(pass_)))
    tally = Tally(known=frozenset(rule.name for rule in aim.rules))
    failures: list[Failure] = []

    def question(module: Module) -> Failure | None:
        seen = Rewrites()
        outcome = try_pass(pass_, module, arguments_for(module, random, promise_of(pass_)), [seen])
        tally.add(outcome, seen.rules)
        if outcome.changed:
            candidates.keep(module, seen.replaced)
        if outcome.failure is None:
            return None
        if not failures:
            tally.right, judge.tries = tally.modules - 1, MORE
        failures.append(outcome.failure)
        return outcome.failure if outcome.failure.kind not in MINOR else None

    judge = Judge[Module, Failure](question, lambda _, __: watch(tally))
    # A golden case may have constants that are left out, which is nobody's fault here.
    with elided_untold():
        worse = first(chain(modules, islice(candidates, examples)), judge)
    return worse[1] if worse else next(iter(failures), None), tally


def arguments_for(module: Module, random: Random, promise: Promise) -> Iterator[list[Any]]:
    """A few lists of arguments, each filled in another way; in one of them all arrays are alike."""
    rounding = rounds(promise)
    usual, telling = ("tame", "scaled") if rounding else ("nasty", "ends")
    left = [s for s in STYLES if s not in (usual, telling) and (rounding or s != "exponents")]
    others = random.sample(left, 3)
    shapes = [p.shape for p in module.entry.parameters]
    for style in (usual, telling, *others):
        yield [STYLES[style](shape, random) for shape in sized(shapes, random)]
    seed = random.random()
    yield [STYLES[telling](shape, Random(seed)) for shape in sized(shapes, random)]


def smallest(pass_: Pass, failure: Failure, seconds: float = 10) -> Failure:
    """The same fault of a pass on a smaller module.

    Parameters
    ----------
    seconds : of the processor's time, after which the smallest so far must do.
    """

    def failing(case: Case) -> Failure | None:
        again = find_failure(pass_, case.module, list(case.arguments or ()))
        return again if again is not None and again.kind == failure.kind else None

    case = Case(failure.before, tuple(failure.arguments))
    with elided_untold():
        small = shrink(case, lambda c: failing(c) is not None, seconds=seconds, clock=process_time)
        return failing(small) or failure
