"""Runs the suite: asks a backend and a reference, counts, and makes what is wrong small."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.backend import without_donations
from hlo.backend_names import find
from hlo.errors.error import HloError
from hlo_tools.conformance.behaviours import BEHAVIOURS
from hlo_tools.conformance.isolated import Answer, Isolated
from hlo_tools.conformance.probes import (
    OPCODES,
    Probe,
    calling_probes,
    opcode_probes,
    random_probes,
    structures,
)
from hlo_tools.generate.embedding import beside
from hlo_tools.search.checking.judging import difference, mapped
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.shrink import shrink
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.widths import float_format, type_of, widened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Value = Any  # an array, None for a token, or a tuple of values
EQUAL, WRONG, REFUSED, CRASHED = KINDS = ("equal", "wrong", "refused", "crashed")
# After so many ends of the process, an opcode is left alone, and its module as it is.
MOST_DEATHS = 4
# Of so many random modules, the reference takes at least one.
MOST_DRAWN = 10
# So long the smallest module is looked for.
SECONDS = 15.0


@dataclass(frozen=True)
class BackendFinding:
    """A question that a backend answered wrongly.

    Attributes
    ----------
    kind : WRONG or CRASHED.
    detail : how.
    case : the module and its arguments; None where the module does not matter.
    """

    about: str
    kind: str
    detail: str
    case: Case
    promise: Any = None


@dataclass
class Findings:
    """The answers by the opcode, or other subject, of the question.

    Attributes
    ----------
    first : the first wrong or crashed answer about each.
    refusals : the first reason of a refusal.
    """

    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    first: dict[str, BackendFinding] = field(default_factory=dict[str, BackendFinding])
    refusals: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, about: str, kind: str, detail: str = "", number: int = 1) -> bool:
        """Count answers; whether this is the first wrong one."""
        self.counts.setdefault(about, Counter())[kind] += number
        if kind == REFUSED:
            self.refusals.setdefault(about, detail)
        return kind in (WRONG, CRASHED) and about not in self.first

    @property
    def failed(self) -> bool:
        """Whether any answer was wrong, or none was right."""
        return bool(self.first) or not any(own[EQUAL] for own in self.counts.values())


@dataclass
class Suite:
    """The suite for one backend.

    Parameters
    ----------
    name, reference : of backends, as `hlo.backend_names.find` takes them.
    examples : how many random modules.
    opcodes : only these, and nothing else; all, and everything, if empty.
    early : stop at the first finding.
    right : the reference itself, where several suites share its values; whoever made it closes it.
    """

    name: str
    reference: str = "interpreter"
    examples: int = 150
    seed: int = 0
    opcodes: Sequence[str] = ()
    early: bool = False
    show: Callable[[str], None] = lambda _: None
    right: Reference | None = None

    def run(self) -> Findings:
        """Ask everything."""
        findings, there = Findings(), Isolated(self.name)
        wanted = self.right or Reference.beside(self.name, self.reference)
        try:
            for _ in self._questions(findings, there, wanted):
                if self.early and findings.first:
                    break
        finally:
            there.close()
            if wanted is not self.right:
                wanted.close()
        return findings

    def _questions(self, findings: Findings, there: Isolated, wanted: Reference) -> Iterator[None]:
        """Ask the cheap questions first: those of opcodes are nearly all of the time."""
        if not self.opcodes:
            for number in range(len(BEHAVIOURS)):
                self.show(BEHAVIOURS[number].about)
                self._behave(findings, there, wanted, number)
                yield
            forms = chain(wanted.known(structures), wanted.known(calling_probes, self.seed))
            yield from self._ask_each(findings, there, wanted, forms)
        for opcode in self.opcodes or OPCODES:
            self.show(opcode)
            probes = wanted.known(opcode_probes, opcode, self.seed)
            started = there.started
            for probe in self._unless_all_equal(findings, there, wanted, probes):
                if there.started > started + MOST_DEATHS:
                    break
                self._ask(findings, there, wanted, probe)
                yield
        if not self.opcodes:
            drawn = MOST_DRAWN * self.examples
            modules = wanted.known(random_probes, drawn, self.seed, most=self.examples)
            yield from self._ask_each(findings, there, wanted, modules)

    def _ask_each(
        self, findings: Findings, there: Isolated, wanted: Reference, probes: Iterable[Probe]
    ) -> Iterator[None]:
        for probe in probes:
            self.show(probe.about)
            self._ask(findings, there, wanted, probe)
            yield

    def _unless_all_equal(
        self, findings: Findings, there: Isolated, wanted: Reference, probes: Sequence[Probe]
    ) -> Sequence[Probe]:
        """The probes that must be asked one by one: none, if all are right in one module."""
        if not probes:
            return []
        module = beside([p.module for p in probes])
        arguments = tuple(a for p in probes for a in p.arguments)
        answer = there.value(module, arguments)
        if answer.kind != "value":
            return probes
        pairs = zip(probes, answer.value, strict=True)
        if any(wanted.apart(p, value) for p, value in pairs):
            return probes
        findings.add(probes[0].about, EQUAL, number=len(probes))
        return []

    def _ask(self, findings: Findings, there: Isolated, wanted: Reference, probe: Probe) -> None:
        kind, detail = wanted.judged(there.value(probe.module, probe.arguments), probe)
        if findings.add(probe.about, kind, detail):
            case = Case(probe.module, probe.arguments)
            findings.first[probe.about] = BackendFinding(
                probe.about, kind, detail, case, probe.promise
            )

    def _behave(self, findings: Findings, there: Isolated, wanted: Reference, number: int) -> None:
        behaviour, answer = BEHAVIOURS[number], there.behave(number)
        about, module = behaviour.about, behaviour.module
        kind, detail, inputs = EQUAL, answer.detail, ()
        if answer.kind == "value":
            for arguments, value in answer.value:
                probe = Probe(about, without_donations(module), tuple(arguments))
                if not wanted.knows(probe):
                    continue
                if apart := wanted.apart(probe, value):
                    kind, detail, inputs = WRONG, f"{_promise(number)}: {apart}", tuple(arguments)
                    break
        else:
            kind = WRONG if answer.kind == "broken" else answer.kind
            detail = f"{_promise(number)}: {detail}" if kind == WRONG else detail
        if findings.add(about, kind, detail):
            findings.first[about] = BackendFinding(
                about, kind, detail, Case(module, inputs or None)
            )


def _promise(number: int) -> str:
    """The promise of a behaviour in words."""
    return (BEHAVIOURS[number].ask.__doc__ or "").partition("\n")[0].rstrip(".")


@dataclass
class Reference:
    """The backend that is right, and the questions and values so far.

    Any but the interpreter has a process of its own, for it may crash.

    Attributes
    ----------
    keeps_subnormals : else they are zeros in arguments and in results.
    """

    name: str
    keeps_subnormals: bool = True
    _there: Isolated | None = None
    _values: dict[int, tuple[Probe, Answer]] = field(
        default_factory=dict[int, "tuple[Probe, Answer]"]
    )
    _known: dict[tuple[object, ...], tuple[Probe, ...]] = field(
        default_factory=dict[tuple[object, ...], "tuple[Probe, ...]"]
    )

    def __post_init__(self) -> None:
        if self.name != "interpreter":
            self._there = Isolated(self.name)

    @classmethod
    def beside(cls, name: str, reference: str) -> Reference:
        """The reference for a backend; either may flush subnormal numbers."""
        return cls(reference, all(find(backend).keeps_subnormals for backend in (name, reference)))

    def answer(self, probe: Probe) -> Answer:
        """The right answer, computed once."""
        if id(probe) not in self._values:
            self._values[id(probe)] = (probe, self._fresh(probe))
        return self._values[id(probe)][1]

    def _fresh(self, probe: Probe) -> Answer:
        if self._there is not None:
            return self._there.value(probe.module, probe.arguments)
        try:
            value = evaluate(without_donations(probe.module), *probe.arguments)
        except HloError as error:
            return Answer("refused", error.message)
        return Answer("value", value=value)

    def value(self, probe: Probe) -> Value:
        """The right value of a module that the reference knows."""
        return self.answer(probe).value

    def knows(self, probe: Probe) -> bool:
        """Whether there is a value: not every opcode means something for every type."""
        return self.answer(probe).kind == "value"

    def known(
        self, make: Callable[..., Iterable[Probe]], *parameters: object, most: int | None = None
    ) -> tuple[Probe, ...]:
        """The questions that the reference knows, made and answered once: at most so many.

        Another one is taken for each that it refuses: XLA's parser, verifier and conversion to
        StableHLO refuse about a quarter of random modules.
        """
        key = (make, parameters, most)
        if key not in self._known:
            probes = map(self.within, make(*parameters))
            self._known[key] = tuple(islice(filter(self.knows, probes), most))
        return self._known[key]

    def judged(self, answer: Answer, probe: Probe) -> tuple[str, str]:
        """The kind of an answer, and the difference or the reason."""
        if answer.kind != "value":
            return answer.kind, answer.detail
        difference_text = self.apart(probe, answer.value)
        return (WRONG, difference_text) if difference_text else (EQUAL, "")

    def apart(self, probe: Probe, got: Value) -> str:
        """The difference of a value from the right one; empty if there is none."""
        want, got = self._kept(self.value(probe)), self._kept(got)
        arguments = list(probe.arguments)
        difference_found = difference(probe.module, None, arguments, probe.promise, want, got)
        return "" if difference_found is None else str(difference_found)

    def within(self, probe: Probe) -> Probe:
        """A question on arguments that the reference keeps."""
        return replace(probe, arguments=tuple(map(self._kept, probe.arguments)))

    def _kept(self, value: Value) -> Value:
        return value if self.keeps_subnormals else mapped(value, without_subnormals)

    def close(self) -> None:
        """End the process."""
        if self._there is not None:
            self._there.close()


def without_subnormals(array: Any) -> Any:
    """An array with zeros in the place of floats that are too small for all their digits.

    Those of f16 and narrower types are usual numbers in the arithmetic of f32. The least number of
    f8e8m0fnu is not, and has NaN in its place: the type has no zero.
    """
    if type_of(array).kind not in ("float", "complex"):
        return array
    parts: Any = np.array(array).reshape(-1).view(type_of(array).real.dtype)
    if float_format(parts.dtype).exponent_bits < float_format(np.dtype(np.float32)).exponent_bits:
        return array
    wide = widened(parts)
    limits = [cast("Any", ml_dtypes.finfo(kind)) for kind in (parts.dtype, wide.dtype)]
    small = np.abs(wide) < max(float(limit.tiny) for limit in limits)
    flushed = np.where(small, np.copysign(0, wide), wide).astype(parts.dtype)
    return flushed.view(array.dtype).reshape(np.shape(array))


def smallest(
    name: str, reference: str, finding: BackendFinding, seconds: float = SECONDS
) -> BackendFinding:
    """A finding on the smallest module that shows it; the same where the module is our own."""
    if finding.promise is None:
        return finding
    there, wanted = Isolated(name), Reference.beside(name, reference)
    detail = finding.detail

    def holds(case: Case) -> bool:
        nonlocal detail
        if there.started > MOST_DEATHS:
            return False
        probe = Probe(finding.about, case.module, tuple(case.arguments or ()), finding.promise)
        smaller = Case(case.module, wanted.within(probe).arguments)
        if str(smaller) != str(case) or not wanted.knows(probe):
            return False
        kind, now = wanted.judged(there.value(probe.module, probe.arguments), probe)
        if kind == finding.kind:
            detail = now
        return kind == finding.kind

    try:
        return replace(finding, case=shrink(finding.case, holds, seconds=seconds), detail=detail)
    finally:
        there.close()
        wanted.close()
