"""Trying cases: texts that are read, and modules that are run three ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from hlo import HloError
from hlo_tools.values.arrays import leaves
from tests.fuzz.excuses import judge
from tests.fuzz.judge import (
    can_be_merged,
    compiled,
    copied,
    donates,
    loaded,
    prepared,
    read,
    unchanged,
)
from tests.fuzz.merge import merged
from tests.fuzz.mistakes import C, Case, Mistake, Platform, Skipped, guarded
from tests.fuzz.mutate import module_of, text_of
from tests.fuzz.stablehlo import NAME, stablehlo_of
from tests.fuzz.workers import At, Counts, Found
from tests.fuzz.xla import Xla

if TYPE_CHECKING:
    from collections.abc import Callable

# Modules whose C is compiled together.
TOGETHER = 32
_COUNT_OF = {
    "crash": "crashes",
    "hang": "hangs",
    "exception": "foreign exceptions",
    "difference": "differences",
}
_OF_THIRD = {
    "value": "run by XLA",
    "open": "not asked of XLA",
    "refused": "refused by XLA",
    "crashed": "crashes of XLA",
}
_SKIPPED = ("endless", "large", "many devices", "no order")


@dataclass(frozen=True)
class Run:
    """One run of the fuzzer.

    Attributes
    ----------
    seed : of all its cases.
    gentle : whether it makes modules, and runs them; else texts, and reads them.
    in_stablehlo : whether the texts are StableHLO.
    third : the name of a backend that is asked as well; "" for none.
    platform : what compiles its modules.
    """

    seed: str
    gentle: bool
    last: int
    in_stablehlo: bool = False
    third: str = ""
    platform: Platform = C

    @property
    def name(self) -> str:
        """The name of the file that a text is read as; "" for HLO."""
        return NAME if self.in_stablehlo else ""

    def text(self, number: int) -> str:
        """The text of a case."""
        make = module_of if self.gentle else text_of
        make = stablehlo_of if self.in_stablehlo else make
        return make(Random(f"{self.seed}/{number}"))[0]

    def arguments(self, number: int) -> Random:
        """What its module's arguments are made of."""
        return Random(f"{self.seed}/{number}/arguments")

    def found(self, number: int, mistake: Mistake) -> Found:
        """A mistake with its case."""
        return Found(
            mistake.kind,
            mistake.place,
            mistake.message,
            self.text(number),
            f"{self.seed}/{number}",
        )


def count_mistake(counts: Counts, kind: str) -> None:
    """Count a mistake under the name of its kind."""
    counts.add(_COUNT_OF.get(kind, "other mistakes"))


class Attempt:
    """A process's cases, one after the other."""

    def __init__(
        self, run: Run, at: At, step: int, counts: Counts, tell: Callable[[Found], None]
    ) -> None:
        self.run, self.at, self.step, self.counts, self.tell = run, at, step, counts, tell
        self.waiting: dict[int, Case] = {}
        self.third = Xla(run.third) if run.third else None

    def all(self) -> None:
        """Try all that are left; those first on which the process before died."""
        several, rest, following = self.at.several, self.at.rest, self.at.number
        if several:
            again = {number: self.prepared(number) for number in (*several, *rest)}
            # One that died by itself is told of already.
            queue = halves(several) if len(several) > 1 else []
            queue += [rest] if rest else []
            self.in_turn(again, queue)
            following += self.step
        for number in range(following, self.run.last, self.step):
            self.at.begin(number)
            self.one(number)
        self.together()

    def prepared(self, number: int) -> Case:
        """A case that was prepared before."""
        module = read(self.run.text(number), self.run.name)
        assert module is not None
        return prepared(module, self.run.arguments(number), self.run.platform)

    def one(self, number: int) -> None:
        """Try one case, or let it wait for others."""
        self.counts.add("texts")
        try:
            module = read(self.run.text(number), self.run.name)
            if module is None:
                return
            self.counts.add("parsed and verified")
            if not self.run.gentle:
                return
            case = prepared(module, self.run.arguments(number), self.run.platform)
            self.ask_third(number, case)
            if can_be_merged(case):
                self.waiting[number] = case
                if len(self.waiting) >= TOGETHER:
                    self.together()
            else:
                self.compile(case)
        except Skipped as skipped:
            self.count_skipped(str(skipped))
        except Mistake as mistake:
            self.mistake(number, mistake)

    def ask_third(self, number: int, case: Case) -> None:
        """Compare with XLA's value, if it takes the module."""
        if self.third is None:
            return
        try:
            self.counts.add(_OF_THIRD[self.third.ask(case)])
        except Mistake as mistake:
            self.mistake(number, mistake)
        # Its time is not that of the next step.
        self.at.since()

    def compile(self, case: Case) -> None:
        """Run the C of a case by itself."""
        compiled(case)
        self.counts.add("compilations")
        if donates(case):
            compiled(case, donate=True)
            self.counts.add("compilations")
            self.counts.add("of them donating")
        self.counts.add("run three ways")

    def together(self) -> None:
        """Run the C of all that wait."""
        cases, self.waiting = self.waiting, {}
        self.in_turn(cases, [list(cases)] if cases else [])
        self.at.begin(self.at.number)

    def in_turn(self, cases: dict[int, Case], queue: list[list[int]]) -> None:
        """Run the C of cases in programs of several; what fails is tried again in halves."""
        while queue:
            numbers = queue.pop(0)
            self.at.begin_several(numbers, [number for other in queue for number in other])
            if len(numbers) == 1:
                self.alone(numbers[0], cases[numbers[0]])
                continue
            donating = [number for number in numbers if donates(cases[number])]
            try:
                wrong = run_together(cases, numbers)
                if donating:
                    wrong |= run_together(cases, donating, donate=True)
            except (HloError, Mistake):
                queue[:0] = halves(numbers)
                continue
            self.counts.add("compilations", 2 if donating else 1)
            self.counts.add("run three ways", len(numbers) - len(wrong))
            self.counts.add("of them donating", len({*donating} - wrong))
            queue[:0] = [[number] for number in sorted(wrong)]

    def alone(self, number: int, case: Case) -> None:
        """Run the C of one case that failed with others."""
        try:
            self.compile(case)
        except Skipped as skipped:
            self.count_skipped(str(skipped))
        except Mistake as mistake:
            self.mistake(number, mistake)

    def count_skipped(self, reason: str) -> None:
        """Count a module that is not run three ways."""
        refused = "unsupported in C" if reason == "HLO181" else "refused to run"
        self.counts.add(reason if reason in _SKIPPED else refused)

    def mistake(self, number: int, mistake: Mistake) -> None:
        """Count a mistake, and tell of it."""
        count_mistake(self.counts, mistake.kind)
        self.tell(self.run.found(number, mistake))


def halves(numbers: list[int]) -> list[list[int]]:
    """The first and the second half."""
    middle = len(numbers) // 2
    return [numbers[:middle], numbers[middle:]]


def run_together(cases: dict[int, Case], numbers: list[int], *, donate: bool = False) -> set[int]:
    """Compile modules as one, run it, and compare all values; gives the numbers of wrong ones.

    Raises
    ------
    Mistake, HloError
    """
    chosen = [cases[number] for number in numbers]
    optimized = [case.optimized for case in chosen if case.optimized]
    with guarded("compile", 30):
        executable = loaded(merged(optimized), chosen[0].platform, donate=donate)
    given = [copied(case) for case in chosen]
    with guarded("run"):
        values = executable(*[a for arguments in given for a in arguments])
    wrong: set[int] = set()
    for number, arguments, value in zip(numbers, given, values, strict=True):
        case = cases[number]
        try:
            judge(case, value, case.platform.language)
            if not donate:
                before = [array.tobytes() for a in case.arguments for array in leaves(a)]
                unchanged(replace(case, arguments=arguments), before, case.platform.language)
        except Mistake:
            wrong.add(number)
    return wrong
