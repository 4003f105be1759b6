"""Computes values a second time where to keep them would take too much memory.

    big = broadcast(x)                      big = broadcast(x)
    a = reduce(big)                         a = reduce(big)
    p = peak of memory(a)             =>    p = peak of memory(a)
                                            big.remat = broadcast(x)
    b = multiply(p, big)                    b = multiply(p, big.remat)

While most memory is needed, `big` waits for its last reader. It is cheap, and what it is made of is
there anyway; so it is made again after the peak, and not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.effects import has_effect, ordered
from hlo.opcode import GIVEN, SEQUENTIAL
from hlo.walk import names_of, rebuild, rebuild_module, users
from hlo.wording import with_article
from optimizer.analysis.alias import DEFAULT
from optimizer.analysis.cost import cost
from optimizer.analysis.dataflow import Value
from optimizer.analysis.timeline import can_be_planned
from optimizer.log import Log
from optimizer.memory.buffer_assignment import block, share_operands
from optimizer.memory.buffers import Buffers
from optimizer.memory.copy_insertion import with_copies
from optimizer.memory.heap import peak, worst_moment
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module

# A guard against long searches: candidates that are tried at one peak, the best first.
TRIES = 20
# Operations that a transcendental function counts as.
_TRANSCENDENTAL = 10


@dataclass(frozen=True, slots=True)
class RematDecision:
    """The decision to compute a value again after the peak.

    Attributes
    ----------
    allowed : what was decided.
    rule : which rule decided, a word.
    text : the reason with its numbers, a sentence.
    saved : bytes at the peak.
    work : operations and bytes that it takes to compute it again.
    """

    allowed: bool
    rule: str
    text: str
    saved: int = 0
    work: int = 0

    def __str__(self) -> str:
        """One line."""
        return f"{'may be' if self.allowed else 'is not'} recomputed ({self.rule}): {self.text}"


class Peak:
    """The moment of a module's run at which temporary arrays take most bytes."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.buffers = Buffers(module)
        share_operands(self.buffers)
        self.flow = self.buffers.flow
        temporary = [block(b) for b in self.buffers if not b.fixed]
        self.moment, self.bytes = worst_moment(temporary)
        self._users = {c: users(c) for c in self.flow.timeline.first}
        self._ordered = {i for c in self.flow.timeline.first for i in ordered(c)}

    @property
    def peak(self) -> str:
        """The peak in words, as the report of the buffers has it."""
        return f"the peak of {self.bytes} bytes of temporaries and results, moment {self.moment}"

    def candidates(self) -> list[tuple[RematDecision, Instruction]]:
        """The candidates of rematerialization, the least work for a byte first."""
        judged = [(self.judge(i), i) for i in self.flow.timeline.order]
        candidates = [(d, i) for d, i in judged if d.allowed]
        return sorted(candidates, key=lambda pair: pair[0].work / pair[0].saved)

    def judge(self, instr: Instruction) -> RematDecision:
        """The decision about an instruction's value."""
        (shown, *others) = self.flow.at[instr] or (None,)
        refused = self._of_a_kind_that_stays(instr)
        if refused or others or not isinstance(shown, Value) or shown.instruction is not instr:
            reason = refused or "it makes no array of its own"
            return RematDecision(False, "opcode", f"%{instr.name}: {reason}")
        if not any(first <= self.moment <= last for first, last in shown.live):
            span = f"needed from {shown.live[0][0]} to {shown.live[-1][1]}"
            reason = f"%{instr.name} takes no memory at {self.peak}; it is {span}"
            return RematDecision(False, "not-alive", reason)
        if not self.later(instr):
            reason = f"%{instr.name} is made or read at {self.peak}, or handed on before it"
            return RematDecision(False, "in-use", reason)
        values = self._kept_for(instr)
        saved = shown.shape.bytes - sum(v.shape.bytes for v in values)
        if saved <= 0:
            names = ", ".join(f"%{v.name}" for v in values)
            reason = f"%{instr.name} would have to keep {names}, which saves nothing"
            return RematDecision(False, "operands", reason)
        spent = cost(instr)
        work = spent.flops + _TRANSCENDENTAL * spent.transcendentals + spent.bytes_accessed
        reason = (
            f"%{instr.name} waits through {self.peak}; computing it again "
            f"after it saves {saved} bytes for {work} operations and bytes"
        )
        return RematDecision(True, "cheaper", reason, saved, work)

    def _of_a_kind_that_stays(self, instr: Instruction) -> str:
        if instr.opcode in SEQUENTIAL or instr.opcode in GIVEN:
            return f"{with_article(instr.opcode)} is never computed again"
        if not instr.row.pure or has_effect(instr) or instr in self._ordered:
            return "it does more than compute its value"
        return ""

    def later(self, instr: Instruction) -> list[Instruction]:
        """The users after the peak; none if a user at the peak or before it keeps the value."""
        timeline = self.flow.timeline
        if timeline.time[instr] >= self.moment or instr is timeline.home[instr].root:
            return []
        readers: list[Instruction] = []
        for user in self._users[timeline.home[instr]][instr]:
            if timeline.entry.get(user, timeline.time[user]) > self.moment:
                readers.append(user)
            elif timeline.time[user] >= self.moment or self.flow.info.forwards(user):
                return []
        return readers

    def _kept_for(self, instr: Instruction) -> list[Value]:
        """Values that would have to be kept through the peak, and are not yet."""
        shown = [v for o in instr.operands for v in self.flow.at[o] if isinstance(v, Value)]
        return [
            value
            for value in dict.fromkeys(shown)
            if value.kind not in GIVEN
            and not any(first <= self.moment <= last for first, last in value.live)
        ]


@register
@dataclass(frozen=True)
class HloRematerialization:
    """Recomputes cheap values, until temporary arrays fit a limit, or no cheap value is left.

    Attributes
    ----------
    memory_limit_bytes : of temporary arrays and results; 0 for no limit.
    """

    name = "rematerialization"
    xla = "xla/hlo/transforms/simplifiers/hlo_rematerialization.cc"
    memory_limit_bytes: int = 0

    def run(self, module: Module, log: Log) -> Module:
        """The module with some values computed twice."""
        if not self.memory_limit_bytes or not can_be_planned(module):
            return module
        while True:
            most = Peak(module)
            smaller = self._smaller(most, log) if most.bytes > self.memory_limit_bytes else None
            if smaller is None:
                return module
            module = smaller

    def _smaller(self, most: Peak, log: Log) -> Module | None:
        """The module with the first candidate recomputed that makes the worst moment better."""
        before = needed(most.module)
        for _, instr in most.candidates()[:TRIES]:
            clone = instr.with_(name=names_of(most.module).unique(f"{instr.name}.remat"))
            trial = _recomputed(most, instr, clone)
            if needed(trial) < before and log.rewrite("recompute", instr, clone):
                return trial
        return None


def needed(module: Module) -> int:
    """Bytes of all arrays but constants and arguments at the worst moment, with all copies."""
    buffers = Buffers(with_copies(module, DEFAULT, Log()))
    share_operands(buffers)
    return peak([block(b) for b in buffers if not b.fixed])


def _recomputed(most: Peak, instr: Instruction, clone: Instruction) -> Module:
    """The module with a clone in front of the first user after the peak, for all of these."""
    home = most.flow.timeline.home[instr]
    plan = {
        user: user.with_(operands=tuple(clone if o is instr else o for o in user.operands))
        for user in most.later(instr)
    }
    return rebuild_module(most.module, lambda c: rebuild(c, plan) if c is home else c)
