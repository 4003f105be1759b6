"""Proves that two modules compute the same: as a whole, or rewrite by rewrite.

First all elements of both results are numbered (`numbering`): if the numbers are the same, the
modules are proved to be equal. If they are not, each rewrite of the pass is proved by itself: both
sides have the same numbers, the solver finds no difference whatever their operands are, or a rule
that is recorded as proved has made it. Any other rewrite is assumed, and reported. If the results
are still not the same, instructions of the same name are compared in the same way.

Unless all is proved, both modules are run on lists of arguments: random ones, and those for which
the solver says that the results differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import hlo_tools.proofs.loops  # pyright: ignore[reportUnusedImport]
import hlo_tools.proofs.opcodes  # pyright: ignore[reportUnusedImport]
import hlo_tools.proofs.places  # pyright: ignore[reportUnusedImport]
import hlo_tools.proofs.scatters  # pyright: ignore[reportUnusedImport]  # noqa: F401  they fill the table
from hlo.attributes import ParameterNumber
from hlo.walk import post_order
from hlo_tools.proofs.elements import NumberedElements, TooManyError
from hlo_tools.proofs.numbering import Numbering, leaves
from hlo_tools.proofs.record import evidence_of, read_record
from hlo_tools.search.checking.failure import Failure, broken_promise, compare_values
from hlo_tools.search.checking.search import arguments_for
from hlo_tools.values.bounded import MOST_EVENTS, MOST_EVENTS_AFTER, rounds
from hlo_tools.values.bounded import run as evaluated
from interpreter.numbers.compare import BITS, ROUNDING, Promise, compare
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape
    from hlo_tools.proofs.numbering import Value
    from hlo_tools.proofs.questions import Questions
    from optimizer.log import Event

# Pairs of elements of the results for which the solver looks for arguments.
MOST_TRIED = 8


@dataclass(frozen=True)
class ProofLimits:
    """The effort that the proof of a pass may take; all of it is counted, so that it ends alike.

    Attributes
    ----------
    steps : of the solver, for each question.
    terms : of the solver, for each side of a question.
    elements : that are numbered.
    pairs : of elements, for each rewrite.
    """

    steps: int = 200_000
    terms: int = 64
    elements: int = 10_000_000
    pairs: int = 4096


LAST_DIGITS: Final = Promise(ulps=ROUNDING.ulps, of_largest=True)
USUAL: Final = ProofLimits()


@dataclass(frozen=True)
class RewriteProof:
    """The proof of one rewrite, or the reason why there is none.

    Attributes
    ----------
    text : the rewrite.
    how : "elements" by their numbers, "solver", or "rule" by a rule that is proved; "" if it is
        not proved.
    why : it is not proved.
    promise : which it keeps, where it is proved.
    """

    text: str
    how: str
    why: str = ""
    promise: Promise = BITS


@dataclass
class ModuleProof:
    """The proof that two modules compute the same, with its gaps.

    Attributes
    ----------
    rewrites : between them.
    rest : why the modules are not the same even if all rewrites are right; "" if they are.
    failure : arguments for which they are not, as the interpreter finds.
    sampled : whether both could be run.
    """

    rewrites: list[RewriteProof] = field(default_factory=list[RewriteProof])
    rest: str = ""
    failure: Failure | None = None
    sampled: bool = False

    @property
    def every(self) -> list[RewriteProof]:
        """The rewrites, and the rest of the proof, if one is open."""
        return [*self.rewrites, *([RewriteProof("the rest", "", self.rest)] if self.rest else [])]

    @property
    def left(self) -> list[RewriteProof]:
        """The gaps of the proof."""
        return [step for step in self.every if not step.how]

    @property
    def word(self) -> str:
        """The answer in a word: "proved", "sampled" or "refuted"."""
        if self.failure is not None:
            return "refuted"
        return "sampled" if self.left else "proved"


@cache
def _record() -> Any:
    return read_record()


def prove_modules(
    before: Module,
    after: Module,
    events: Sequence[Event] = (),
    promise: Promise = BITS,
    limits: ProofLimits = USUAL,
    devices: int | None = None,
) -> ModuleProof:
    """Prove that two modules give the same for all arguments, or find some for which they do not.

    Parameters
    ----------
    events : the rewrites that made the second module of the first.
    promise : how much may change.
    devices : on so many; None for as many as the modules are for.
    """
    prover, proof = Prover(before, after, promise, limits), ModuleProof()
    weakest = weakened(promise, events)

    def run(arguments: Iterable[list[Any]]) -> None:
        limit = MOST_EVENTS, MOST_EVENTS_AFTER, devices
        lists = list(arguments)
        failed, compared = compare_values(weakest, before, after, lists, *limit)
        proof.sampled = proof.sampled or compared
        if failed is not None and failed.kind == "value" and adds_floats(before):
            # In which order it adds is left open, so the last digits refute nothing.
            want, got = (run_alone(m, failed.arguments, devices) for m in (before, after))
            failed = failed if compare(got, want, weakest | LAST_DIGITS) else None
        proof.failure = failed

    try:
        if prover.same_results():
            proof.rewrites += [RewriteProof(told(event), "elements") for event in events]
        else:
            # Most mistakes show at once; the solver is slower.
            run(arguments_for(before, Random(0), promise))
            if proof.failure is None:
                prover.prove(proof, events)
            if proof.failure is None and proof.left:
                run(prover.solved_arguments())
    except TooManyError as error:
        proof.rewrites = [RewriteProof(told(event), "", str(error)) for event in events]
        proof.rest = str(error)
        run(arguments_for(before, Random(0), promise))
    broken = broken_promise(before, after)
    # Copies that keep values apart in memory may come with a later pass. Shardings are no values:
    # `hlo check` asks for them, but a pipeline that does not partition leaves them out.
    values = broken is not None and broken[0] not in ("memory", "sharding")
    if broken is not None and values and proof.failure is None:
        inputs = next(arguments_for(before, Random(0), promise))
        proof.failure = Failure(*broken, before, inputs, after)
    return proof


def run_alone(module: Module, arguments: list[Any], devices: int | None) -> Any:
    """The value of a module; None where it fails or does not end."""
    try:
        return evaluated(module, arguments, MOST_EVENTS_AFTER, devices)
    except Exception:
        return None


def adds_floats(module: Module) -> bool:
    """Whether a module adds up floats."""
    return any(
        i.row.traits & {"reduction", "contraction"}
        and any(
            leaf.is_array and leaf.element_type.real.is_floating for _, leaf in i.shape.leaves()
        )
        for i in module.instructions()
    )


def weakened(promise: Promise, events: Iterable[Event]) -> Promise:
    """The promise of all rewrites together."""
    for event in events:
        if rounds(promise) and isinstance(event.by, Rule) and promise.keeps(event.by.promise):
            promise = event.by.promise
    return promise


class Prover:
    """Two modules, and the pairs of their instructions that are known to be equal."""

    def __init__(
        self, before: Module, after: Module, promise: Promise, limits: ProofLimits
    ) -> None:
        self.before, self.after, self.promise, self.limits = before, after, promise, limits
        self.elements = NumberedElements(limits.elements)
        self.proved: dict[str, list[tuple[Instruction, Instruction]]] = {}
        self.assumed: dict[str, list[tuple[Instruction, Instruction]]] = {}

    @cached_property
    def questions(self) -> Questions:
        """The solver, which is loaded only if something is to be asked."""
        from hlo_tools.proofs.questions import Questions  # noqa: PLC0415

        return Questions(self.elements, self.limits.steps, self.limits.terms, self.limits.pairs)

    def prove(self, proof: ModuleProof, events: Sequence[Event]) -> None:
        """Prove each rewrite, where the results are made of different elements."""
        proof.rewrites += map(self.rewrite, events)
        if not self.same_results():
            self.compare_names()
            if not self.same_results():
                proof.rest = "the results are made of different elements"

    def numbering(self, assume: bool = True) -> Numbering:
        """Numbers with all that is known to be equal by now, or is assumed to be."""
        pairs = {name: list(known) for name, known in self.proved.items()}
        for name, more in self.assumed.items() if assume else ():
            pairs[name] = pairs.get(name, []) + more
        return Numbering(self.elements, {name: tuple(known) for name, known in pairs.items()})

    def results(self, numbering: Numbering) -> list[tuple[Value, Any]]:
        """The result of both modules, and their effects."""
        inputs = self.arguments(self.before.entry, numbering)
        return [numbering.computed(m.entry, inputs, 0) for m in (self.before, self.after)]

    def same_results(self) -> bool:
        """Whether the results of both modules have the same elements."""
        numbering = self.numbering()
        (want, effects), (got, others) = self.results(numbering)
        return numbering.digest(want) == numbering.digest(got) and effects == others

    def arguments(self, computation: Computation, numbering: Numbering) -> list[Value]:
        """Unknown arguments of a computation."""
        name = ("argument",) if computation.name == self.before.entry.name else ("parameter", 1)
        return [numbering.symbols(p.shape, *name, n) for n, p in enumerate(computation.parameters)]

    @cached_property
    def homes(self) -> dict[str, Computation]:
        """The computation of each instruction, by name."""
        pairs = [
            (i.name, c)
            for m in (self.after, self.before)
            for c in m.computations
            for i in c.instructions
        ]
        return dict(pairs)

    def home(self, event: Event) -> Computation:
        """The computation in which a rewrite is done."""
        below = post_order(event.old)
        names = [i.name for i in below if i.opcode == "parameter"] or [event.old.name]
        return self.homes.get(names[0], self.before.entry)

    def rewrite(self, event: Event) -> RewriteProof:
        """The proof of a rewrite."""
        text = told(event)
        # What is no equation of values shows in the results alone.
        if not event.new or not event.new[-1].shape.compatible(event.old.shape):
            return RewriteProof(text, "elements")
        old, new, home = event.old, event.new[-1], self.home(event)
        if not all(fits(i, home.parameters) for instr in (old, new) for i in post_order(instr)):
            return RewriteProof(text, "elements")
        numbering = self.numbering()
        inputs, known = self.arguments(home, numbering), dict[Any, Any]()
        want, got = (numbering.value(instr, inputs, 0, known) for instr in (old, new))
        if numbering.digest(want) == numbering.digest(got):
            return RewriteProof(text, "elements")
        how, why, promise = self.ask(event, want, got)
        into = self.proved if how else self.assumed
        into.setdefault(home.name, []).append((old, new))
        numbering.unite(want, got)
        return RewriteProof(text, how, why, promise)

    def ask(self, event: Event, want: Value, got: Value) -> tuple[str, str, Promise]:
        """The means that prove a rewrite, or the reason why none does, and the promise kept."""
        rule = event.by if isinstance(event.by, Rule) else None
        why = ""
        for promise in dict.fromkeys((BITS, rule.promise if rule else self.promise)):
            if rounds(rule.promise if rule else promise):
                why = f"it promises {rule.promise if rule else promise}, which no proof is about"
                return "", why, promise
            why = why_not(self.questions, want, got, promise)
            if not why:
                return "solver", "", promise
        evidence = evidence_of(rule, _record()) if rule else None
        if rule and evidence and evidence.word == "proved":
            return "rule", "", rule.promise
        return "", why, BITS

    def compare_names(self) -> None:
        """Find instructions of the same name that are equal although their numbers are not."""
        later = {c.name: c for c in self.after.computations}
        for old in self.before.computations:
            new = later.get(old.name)
            if new is None or not same_shapes(old.parameters, new.parameters):
                continue
            numbering = self.numbering()
            inputs = self.arguments(old, numbering)
            known: dict[Instruction, Value] = {}
            named = {i.name: i for i in old.instructions}
            for instr in new.instructions:
                was = named.get(instr.name)
                if was is None or not was.shape.compatible(instr.shape):
                    continue
                want, got = (numbering.value(instr, inputs, 0, known) for instr in (was, instr))
                if numbering.digest(want) != numbering.digest(got) and not why_not(
                    self.questions, numbering.canonical(want), numbering.canonical(got), BITS
                ):
                    self.proved.setdefault(old.name, []).append((was, instr))
                    numbering.unite(want, got)

    def solved_arguments(self) -> Iterator[list[Any]]:
        """Lists of arguments for which the solver says that the results differ."""
        numbering = self.numbering(assume=False)
        try:
            (want, _), (got, _) = self.results(numbering)
        except TooManyError:
            return
        inputs = self.arguments(self.before.entry, numbering)
        shapes = [p.shape for p in self.before.entry.parameters]
        different: dict[tuple[int, int], None] = {}
        for some, others in zip(leaves(want), leaves(got), strict=True):
            pairs = np.stack([some, others], axis=-1)[some != others][:MOST_TRIED]
            different.update((((int(x), int(y))), None) for x, y in pairs)
        for one, other in list(different)[:MOST_TRIED]:
            solved = self.questions.arguments(one, other, self.promise)
            if solved is not None:
                yield [filled(v, s, solved) for v, s in zip(inputs, shapes, strict=True)]


def filled(value: Value, shape: Shape, solved: Mapping[int, Any]) -> Any:
    """The argument whose elements have these values; those that do not matter are zero."""
    if shape.is_tuple:
        return tuple(filled(v, s, solved) for v, s in zip(value, shape.elements, strict=True))
    if not shape.is_array:
        return None
    array = np.zeros(shape.dims, shape.element_type.dtype)
    for index in np.ndindex(shape.dims):
        array[index] = solved.get(int(value[index]), array[index])
    return array


def same_shapes(some: Sequence[Instruction], others: Sequence[Instruction]) -> bool:
    """Whether two lists of instructions have the same shapes."""
    return len(some) == len(others) and all(map(fits, some, [others] * len(some)))


def fits(instr: Instruction, parameters: Sequence[Instruction]) -> bool:
    """Whether an instruction is no parameter of another shape than that of a computation."""
    if instr.opcode != "parameter":
        return True
    number = ParameterNumber.of(instr).number
    return number < len(parameters) and parameters[number].shape.compatible(instr.shape)


def told(event: Event) -> str:
    """A rewrite in a few words."""
    new = f"%{event.new[-1].name}" if event.new else "nothing"
    return f"{event.number} {event.rule}: %{event.old.name} -> {new}"


def why_not(questions: Questions, want: Value, got: Value, promise: Promise) -> str:
    """The reason why two values are not proved to be equal; nothing if they are."""
    pairs = list(zip(leaves(want), leaves(got), strict=True))
    return questions.ask(
        np.concatenate([some.reshape(-1) for some, _ in pairs]),
        np.concatenate([others.reshape(-1) for _, others in pairs]),
        promise,
    )
