"""Runs the suite: asks a backend and a reference, counts, and makes what is wrong small."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from hlo.backend import find, without_donations
from hlo.errors.error import HloError
from hlo_tools.checking.judging import difference
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
from hlo_tools.shrink.case import Case
from hlo_tools.shrink.shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Value = Any  # an array, None for a token, or a tuple of values
EQUAL, WRONG, REFUSED, CRASHED = KINDS = ("equal", "wrong", "refused", "crashed")
# After so many ends of the process, an opcode is left alone, and its module as it is.
MOST_DEATHS = 4
# So long the smallest module is looked for.
SECONDS = 15.0


@dataclass(frozen=True)
class BackendFinding:
    """A question that a backend answered wrongly.

    Attributes
    ----------
    kind : WRONG or CRASHED.
    told : how.
    case : the module and its arguments; None where the module does not matter.
    """

    about: str
    kind: str
    told: str
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

    def add(self, about: str, kind: str, told: str = "", number: int = 1) -> bool:
        """Count answers; whether this is the first wrong one."""
        self.counts.setdefault(about, Counter())[kind] += number
        if kind == REFUSED:
            self.refusals.setdefault(about, told)
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
    name, reference : of backends, as `hlo.backend.find` takes them.
    examples : how many random modules.
    opcodes : only these, and nothing else; all, and everything, if empty.
    early : stop at the first finding.
    """

    name: str
    reference: str = "interpreter"
    examples: int = 150
    seed: int = 0
    opcodes: Sequence[str] = ()
    early: bool = False
    show: Callable[[str], None] = lambda _: None

    def run(self) -> Findings:
        """Ask everything."""
        found, there = Findings(), Isolated(self.name)
        wanted = Reference(self.reference)
        try:
            for _ in self._questions(found, there, wanted):
                if self.early and found.first:
                    break
        finally:
            there.close()
        return found

    def _questions(self, found: Findings, there: Isolated, wanted: Reference) -> Iterator[None]:
        if not self.opcodes:
            for number in range(len(BEHAVIOURS)):
                self.show(BEHAVIOURS[number].about)
                self._behave(found, there, wanted, number)
                yield
        for opcode in self.opcodes or OPCODES:
            self.show(opcode)
            probes = [p for p in opcode_probes(opcode, self.seed) if wanted.knows(p)]
            started = there.started
            for probe in self._unless_all_equal(found, there, wanted, probes):
                if there.started > started + MOST_DEATHS:
                    break
                self._ask(found, there, wanted, probe)
                yield
        if self.opcodes:
            return
        rest = (structures(), calling_probes(self.seed), random_probes(self.examples, self.seed))
        for probe in chain(*rest):
            self.show(probe.about)
            if wanted.knows(probe):
                self._ask(found, there, wanted, probe)
            yield

    def _unless_all_equal(
        self, found: Findings, there: Isolated, wanted: Reference, probes: list[Probe]
    ) -> list[Probe]:
        """The probes that must be asked one by one: none, if all are right in one module."""
        if not probes:
            return []
        module = beside([p.module for p in probes])
        arguments = tuple(a for p in probes for a in p.arguments)
        answer = there.value(module, arguments)
        if answer.kind != "value":
            return probes
        pairs = zip(probes, answer.value, strict=True)
        if any(_apart(p, wanted.value(p), value) for p, value in pairs):
            return probes
        found.add(probes[0].about, EQUAL, number=len(probes))
        return []

    def _ask(self, found: Findings, there: Isolated, wanted: Reference, probe: Probe) -> None:
        kind, told = judged(there.value(probe.module, probe.arguments), wanted.value(probe), probe)
        if found.add(probe.about, kind, told):
            case = Case(probe.module, probe.arguments)
            found.first[probe.about] = BackendFinding(probe.about, kind, told, case, probe.promise)

    def _behave(self, found: Findings, there: Isolated, wanted: Reference, number: int) -> None:
        behaviour, answer = BEHAVIOURS[number], there.behave(number)
        about, module = behaviour.about, behaviour.module
        kind, told, given = EQUAL, answer.told, ()
        if answer.kind == "value":
            for arguments, value in answer.value:
                probe = Probe(about, without_donations(module), tuple(arguments))
                if apart := _apart(probe, wanted.value(probe), value):
                    kind, told, given = WRONG, f"{_promise(number)}: {apart}", tuple(arguments)
                    break
        else:
            kind = WRONG if answer.kind == "broken" else answer.kind
            told = f"{_promise(number)}: {told}" if kind == WRONG else told
        if found.add(about, kind, told):
            found.first[about] = BackendFinding(about, kind, told, Case(module, given or None))


def _promise(number: int) -> str:
    """The promise of a behaviour in words."""
    return (BEHAVIOURS[number].ask.__doc__ or "").partition("\n")[0].rstrip(".")


def judged(answer: Answer, want: Value, probe: Probe) -> tuple[str, str]:
    """The kind of an answer, and the difference or the reason."""
    if answer.kind != "value":
        return answer.kind, answer.told
    told = _apart(probe, want, answer.value)
    return (WRONG, told) if told else (EQUAL, "")


def _apart(probe: Probe, want: Value, got: Value) -> str:
    arguments = list(probe.arguments)
    found = difference(probe.module, None, arguments, probe.promise, want, got)
    return "" if found is None else str(found)


@dataclass
class Reference:
    """The backend that is right, and its values so far."""

    name: str
    _values: dict[int, tuple[Probe, Value]] = field(
        default_factory=dict[int, "tuple[Probe, Value]"]
    )

    def value(self, probe: Probe) -> Value:
        """The right value."""
        if id(probe) not in self._values:
            self._values[id(probe)] = (probe, self.fresh(probe))
        return self._values[id(probe)][1]

    def fresh(self, probe: Probe) -> Value:
        """The right value of a module that is asked for once."""
        return find(self.name).load(without_donations(probe.module))([list(probe.arguments)])[0]

    def knows(self, probe: Probe) -> bool:
        """Whether there is a value: not every opcode means something for every type."""
        try:
            self.value(probe)
        except (HloError, NotImplementedError):
            return False
        return True


def smallest(
    name: str, reference: str, finding: BackendFinding, seconds: float = SECONDS
) -> BackendFinding:
    """A finding on the smallest module that shows it; the same where the module is our own."""
    if finding.promise is None:
        return finding
    there, wanted = Isolated(name), Reference(reference)
    told = finding.told

    def holds(case: Case) -> bool:
        nonlocal told
        if there.started > MOST_DEATHS:
            return False
        probe = Probe(finding.about, case.module, tuple(case.arguments or ()), finding.promise)
        try:
            want = wanted.fresh(probe)
        except Exception:
            return False
        kind, now = judged(there.value(probe.module, probe.arguments), want, probe)
        if kind == finding.kind:
            told = now
        return kind == finding.kind

    try:
        return replace(finding, case=shrink(finding.case, holds, seconds=seconds), told=told)
    finally:
        there.close()
