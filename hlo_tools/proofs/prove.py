"""Proves one rule, or finds a counterexample: integers, floats and bits each by their own method.

An elementwise rule is proved on scalars, for each kind of number by itself: preds and integers by
the solver at every width, floats by the solver in IEEE formats and by trying every value of small
ones. Any other rule is proved on small arrays: for all values that they may hold, but at the shapes
that were tried.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Final

from hlo.types.element_type import PRED
from hlo_tools.generate.trials import PATIENCE, WrongShapeError, applied, check_shape
from hlo_tools.proofs import every_value
from hlo_tools.proofs.cases import (
    PROVABLE,
    Counterexample,
    Question,
    SmallArrays,
    WithUnknown,
    constants_of,
    counterexample,
    for_all_constants,
    for_these_constants,
    is_elementwise,
    scalars,
)
from hlo_tools.proofs.conditions import ConstantsNeededError, condition
from hlo_tools.proofs.decide import solve
from hlo_tools.proofs.findings import KINDS, ProofFinding
from hlo_tools.proofs.meanings import UntranslatedError, number
from hlo_tools.proofs.solver import z3
from hlo_tools.proofs.term_arrays import symbols
from interpreter.numbers.compare import ROUNDING
from optimizer.rewriting.rule import Rule, RuleSet
from optimizer.rewriting.term import Term

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo_tools.generate.instances import Instance


@dataclass(frozen=True)
class ProofEffort:
    """The effort that a proof may take.

    All of it is counted, so that every machine comes to the same.

    Attributes
    ----------
    steps : of the solver, for each question.
    cases : left sides, for each type of the result.
    arrays : left sides of small arrays.
    questions : with different constants, for each left side.
    """

    steps: int
    cases: int
    arrays: int
    questions: int


QUICK: Final = ProofEffort(steps=200_000, cases=40, arrays=12, questions=8)
SMALL_FORMATS: Final = ProofEffort(steps=0, cases=24, arrays=0, questions=6)
FULL: Final = ProofEffort(steps=1_000_000, cases=110, arrays=40, questions=70)


GAVE_UP: Final = "the solver gave up"


class RefutedError(Exception):
    """A rule is wrong; the counterexample says where."""

    def __init__(self, cause: Counterexample | WrongShapeError) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass
class ProofTally:
    """The tally of all questions about one kind of number.

    Attributes
    ----------
    proved, left : names of the types of questions that were answered, and reasons by names of those
        that were not.
    some : names of types for which only some constants were tried.
    hopeless : the width of numbers on which the solver gave up.
    """

    cases: int = 0
    proved: dict[str, None] = field(default_factory=dict[str, None])
    left: dict[str, str] = field(default_factory=dict[str, str])
    some: set[str] = field(default_factory=set[str])
    hopeless: float = inf

    def note(self, types: str, reason: str) -> None:
        """Write down why some types are not proved; that they are, if there is no reason."""
        if reason:
            self.left[types] = reason
        else:
            self.proved[types] = None

    def gave_up(self, before: Module) -> None:
        """Write down on how wide numbers the solver gave up."""
        self.hopeless = min(self.hopeless, width(before))

    def is_hopeless(self, before: Module) -> bool:
        """Whether the solver gave up on narrower numbers already."""
        return width(before) > self.hopeless

    @property
    def done(self) -> list[str]:
        """The names of types of which nothing is left."""
        return [types for types in self.proved if types not in self.left]


def prove(rule: Rule, effort: ProofEffort = FULL) -> list[ProofFinding]:
    """The proofs of a rule, for each kind of number that it is about.

    Raises
    ------
    RefutedError
        if it does not keep its promise.
    """
    if not is_elementwise(rule):
        return [of_arrays(rule, effort)]
    tallies = of_scalars(rule, effort)
    findings: list[ProofFinding] = []
    for kind in KINDS:
        tally = tallies.get(kind)
        tried = None
        if needs_every_value(kind, tally):
            # Where the solver has proved all, the formats that it does not know are left.
            done = tally is not None and bool(tally.proved) and not (tally.left or tally.some)
            tried = by_every_value(rule, SMALL_FORMATS if done else effort, kind)
        finding = summary(kind, tally, tried)
        if finding is not None:
            findings.append(finding)
    # Where the pattern can't be guessed, there is a sampler, and that makes arrays.
    return findings or [of_arrays(rule, effort)]


def needs_every_value(kind: str, tally: ProofTally | None) -> bool:
    """Whether it helps to try every value: of floats always, of others where the solver fails."""
    if kind == "floats":
        return True
    return kind == "integers" and tally is not None and bool(tally.left)


def kind_of(before: Module) -> str:
    """The kind of numbers that a left side is about, the most difficult one counting."""
    kinds = {i.shape.element_type.kind for i in before.entry.instructions}
    for kind, word in (("complex", "complex"), ("float", "floats"), ("pred", "pred")):
        if kind in kinds and (kind != "pred" or kinds == {"pred"}):
            return word
    return "integers"


def types_of(before: Module) -> str:
    """The element types in a left side, but for those of truth values beside others."""
    names = dict.fromkeys(i.shape.element_type.name for i in before.entry.instructions)
    return " and ".join(n for n in names if n != "pred" or len(names) == 1)


def width(before: Module) -> int:
    """The bits of the widest numbers in a left side."""
    return max(i.shape.element_type.bits for i in before.entry.instructions)


def of_scalars(rule: Rule, effort: ProofEffort) -> dict[str, ProofTally]:
    """The solver's answers on scalars, by kind of number."""
    tallies: dict[str, ProofTally] = {}
    fixed = dict.fromkeys(constants_of(rule), 1)
    for result in PROVABLE:
        for instance, before in scalars(rule, result, effort.cases, fixed=fixed):
            tally = tallies.setdefault(kind_of(before), ProofTally())
            if tally.is_hopeless(before):
                tally.note(types_of(before), f"{GAVE_UP} on narrower types")
            elif not ask_for_all(rule, instance, before, effort, tally):
                ask_for_some(rule, instance, before, effort, tally)
    return {kind: tally for kind, tally in tallies.items() if tally.cases}


def ask_for_all(
    rule: Rule, instance: Instance, before: Module, effort: ProofEffort, tally: ProofTally
) -> bool:
    """Ask one question of unknown constants; whether nothing more is to be asked."""
    constants = constants_of(rule)
    if not isinstance(rule.right, Term):
        if constants:
            return False
        question = for_these_constants(rule, before)
    else:
        try:
            question = for_all_constants(rule, instance, before)
        except ConstantsNeededError:
            return False
    if question is None:
        return True
    tally.cases += 1
    reason = ask(rule, question, before, effort)
    # The solver may decide constant by constant a question that it does not decide at once.
    if reason.startswith(GAVE_UP) and constants:
        return False
    tally.note(types_of(before), reason)
    if reason.startswith(GAVE_UP):
        tally.gave_up(before)
    return True


def ask_for_some(
    rule: Rule, instance: Instance, before: Module, effort: ProofEffort, tally: ProofTally
) -> None:
    """Ask about one constant after the other, and whether these are all."""
    constants = [instance.bindings[name] for name in constants_of(rule)]
    rows = list(every_value.chosen_constants(constants, every=False))
    every: list[tuple[Question, Module]] = []
    for row in rows:
        module = every_value.with_constants(before, dict(zip(constants, row, strict=True)))
        question = for_these_constants(rule, module)
        if question is not None:
            every.append((question, module))
    fewer = every[: effort.questions]
    if not fewer:
        return
    tally.cases += len(fewer)
    for question, module in fewer:
        reason = ask(rule, question, module, effort)
        if reason:
            tally.note(types_of(before), reason)
            if reason.startswith(GAVE_UP):
                tally.gave_up(before)
            return
    tally.note(types_of(before), "")
    if len(fewer) < len(every) or not are_all(rule, instance, before, rows):
        tally.some.add(types_of(before))


def are_all(rule: Rule, instance: Instance, before: Module, rows: list[tuple[Any, ...]]) -> bool:
    """Whether a rule applies to no other constants than those of some rows."""
    constants = [instance.bindings[name] for name in constants_of(rule)]
    types = [c.shape.element_type for c in constants]
    values: dict[Any, Any] = {c: symbols(c.name, c.shape) for c in constants}
    values |= {p: symbols(p.name, p.shape) for p in before.entry.parameters}
    terms = [values[c][()] for c in constants]
    for _, match, _ in RuleSet([rule]).matches(before.entry.root, Counter()):
        try:
            allowed = condition(rule.where, match, WithUnknown(values))
            seen = [
                z3.And(*[t == number(v, e) for t, v, e in zip(terms, row, types, strict=True)])
                for row in rows
            ]
        except (ConstantsNeededError, UntranslatedError):
            return False
        return solve(z3.And(allowed, z3.Not(z3.Or(*seen))), QUICK.steps).proved
    return False


def ask(rule: Rule, question: Question, module: Module, effort: ProofEffort) -> str:
    """Ask the solver: why it can't prove a rule, or nothing if it can.

    Raises
    ------
    RefutedError
        if it finds a difference, and the interpreter sees it too.
    """
    try:
        answer = question.ask(rule, effort.steps)
    except UntranslatedError as error:
        return str(error)
    if answer.model is not None:
        example = counterexample(rule, question, answer.model, module)
        if example is not None:
            raise RefutedError(example)
        return "it depends on opcodes that the solver does not know"
    return answer.reason


def by_every_value(rule: Rule, effort: ProofEffort, kind: str) -> ProofTally:
    """The tally of every value of small types, tried on the interpreter.

    Raises
    ------
    RefutedError
        if a value breaks the promise.
    """
    tally = ProofTally()
    if kind == "floats" and rule.promise == ROUNDING:
        tally.left["floats"] = "rounding errors, whose bound is statistical"
        return tally
    fixed = dict.fromkeys(constants_of(rule), 0)
    halves = every_value.HALVES if kind == "floats" else ()
    for types in (every_value.SMALL[kind], *((half, PRED) for half in halves)):
        for result in types:
            options = {"types": types, "orders": ("", "TOTALORDER"), "fixed": fixed}
            for instance, before in scalars(rule, result, effort.cases, **options):
                if kind_of(before) == kind:
                    try_constants(rule, instance, before, effort, tally)
    return tally


def try_constants(
    rule: Rule, instance: Instance, before: Module, effort: ProofEffort, tally: ProofTally
) -> None:
    """Try every value of the parameters of a left side, with many constants."""
    constants = [instance.bindings[name] for name in constants_of(rule)]
    names = types_of(before)
    every = len(before.entry.parameters) <= 1 and effort is FULL
    applies = 0
    for row in every_value.chosen_constants(constants, every):
        module = every_value.with_constants(before, dict(zip(constants, row, strict=True)))
        after = applied(rule, module)
        if after is None:
            continue
        applies += 1
        try:
            difference = every_value.difference(module, after, rule.promise)
        except ValueError as error:
            tally.left[names] = str(error)
            return
        if difference is not None:
            raise RefutedError(Counterexample(module, after, difference[1], difference[0]))
        if applies >= effort.questions and not every:
            break
    if applies:
        tally.cases += applies
        tally.note(names, "")
        if not (every or all(c.shape.element_type.bits <= 4 for c in constants)):
            tally.some.add(names)


def summary(kind: str, solved: ProofTally | None, tried: ProofTally | None) -> ProofFinding | None:
    """The finding for a kind of number; None if the rule is not about it.

    Integers are proved if all widths are, floats if one format is.
    """
    solved, tried = solved or ProofTally(), tried or ProofTally()
    tallies = {"solver": solved, "every value": tried}
    done = sorted({types for tally in tallies.values() for types in tally.done})
    entirely = {n for tally in tallies.values() for n in tally.done if n not in tally.some}
    left = {n: why for t in tallies.values() for n, why in t.left.items() if n not in done}
    if not done and not left:
        return None
    how = " + ".join(name for name, tally in tallies.items() if tally.done)
    limited = {n: "only some constants" for n in done if n not in entirely}
    whole = bool(entirely) and (kind == "floats" or not (left or limited))
    return ProofFinding(kind, how, whole, done, solved.cases + tried.cases, reasons(left | limited))


def reasons(left: dict[str, str]) -> str:
    """The reasons why some types are not proved: each reason with its types."""
    by_reason: dict[str, list[str]] = {}
    for names, why in left.items():
        by_reason.setdefault(why, []).append(names)
    return "; ".join(f"{', '.join(sorted(names)[:6])}: {why}" for why, names in by_reason.items())


def of_arrays(rule: Rule, effort: ProofEffort) -> ProofFinding:
    """The solver's findings for small arrays: for all values, at each shape that is tried.

    Raises
    ------
    RefutedError
        if it finds values for which the rule breaks its promise.
    """
    tally = ProofTally()
    sides = SmallArrays(rule, effort.arrays * PATIENCE)
    for before in sides:
        try:
            check_shape(rule, before.entry.root)
        except WrongShapeError as error:
            raise RefutedError(error) from error
        question = for_these_constants(rule, before)
        if question is None:
            continue
        tally.cases += 1
        tally.note(types_of(before), ask(rule, question, before, effort))
        if tally.cases >= effort.arrays:
            break
    if not tally.cases:
        return ProofFinding("arrays", why="no left side was found to which it applies")
    shapes = "all small shapes" if sides.finished else "small shapes"
    how = f"solver, {shapes}" if tally.done else ""
    whole = bool(tally.done) and not tally.left
    return ProofFinding("arrays", how, whole, sorted(tally.done), tally.cases, reasons(tally.left))
