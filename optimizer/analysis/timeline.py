"""The sequential schedule of a module: the time at which each instruction runs, on one line.

A call takes the moments in which its callee runs, a loop those of one iteration: first its
condition, then its body. The branches of a conditional follow each other on the line, though only
one runs.

References
----------
XLA, `HloLiveRange::FlattenSchedule` in `xla/hlo/utils/hlo_live_range.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.opcode import SEQUENTIAL
from hlo.support.nesting import unnested
from hlo.types.shape import UNBOUNDED
from hlo.walk import called_first

if TYPE_CHECKING:
    from collections.abc import Generator

    from hlo.instruction import Computation, Instruction, Module

_MANY = "it leaves a module as it is that would become too large"


def can_be_planned(module: Module) -> bool:
    """Whether each sequential computation runs at one point in time, and each array has a size.

    And no loop hands on what a send or a recv has started: nothing can be copied while it is sent.
    Nor does an async-update bring operands, without which the computation can't run at its start.
    """
    sized = all(
        UNBOUNDED not in shape.dims for i in module.instructions() for _, shape in i.shape.leaves()
    )
    flat = sized and is_flat(module)
    return flat and not any(hands_on_a_transfer(i) or binds_late(i) for i in module.instructions())


def hands_on_a_transfer(instr: Instruction) -> bool:
    """Whether control flow carries a tuple that a send or a recv has made."""
    nests = [element for element in instr.shape.elements if element.is_tuple]
    return instr.opcode in ("while", "conditional") and any(
        leaf.is_token for nest in nests for _, leaf in nest.leaves()
    )


def binds_late(instr: Instruction) -> bool:
    """Whether an async-update brings operands of the computation that was started before."""
    return instr.opcode == "async-update" and len(instr.operands) > 1


def is_flat(module: Module) -> bool:
    """Whether every sequential computation has one caller."""
    callees = [
        callee
        for computation in called_first(module.entry)
        for instr in computation.instructions
        if instr.opcode in SEQUENTIAL
        for callee in instr.called
    ]
    return len(set(callees)) == len(callees)


@dataclass(frozen=True, slots=True)
class WhileInterval:
    """A while on the line of time.

    Attributes
    ----------
    first, last : the moments at which it is entered and has ended.
    home : the computation that it is in.
    """

    first: int
    last: int
    home: Computation


class Timeline:
    """The moments of a module's run; they are numbers from 0 on.

    Attributes
    ----------
    order : all instructions of sequential computations, in the order of their moments.
    time : when an instruction has its value.
    entry : when one that runs computations begins.
    first, last : when a computation begins and ends.
    site : who runs a computation.
    home : the computation of an instruction.
    loop : the innermost loop around the instructions of a computation.
    has_branches : whether any conditional runs.
    ends : by when a value is made and a loop begins that reads it: see `last_iteration`.
    """

    def __init__(self, module: Module) -> None:
        self.order: list[Instruction] = []
        self.time: dict[Instruction, int] = {}
        self.entry: dict[Instruction, int] = {}
        self.first: dict[Computation, int] = {}
        self.last: dict[Computation, int] = {}
        self.site: dict[Computation, Instruction] = {}
        self.home: dict[Instruction, Computation] = {}
        self.loop: dict[Computation, WhileInterval | None] = {}
        self.ends: dict[tuple[int, int], tuple[int, Computation]] = {}
        self._now = -1
        unnested(self._computation(module.entry))
        self.has_branches = any("conditional" in c.opcodes for c in self.first)
        self._find_loops(module.entry)

    def _tick(self) -> int:
        self._now += 1
        return self._now

    def _computation(self, computation: Computation) -> Generator[Any, Any, None]:
        self.first[computation] = self._tick()
        for instr in computation.instructions:
            self.home[instr] = computation
            if instr.opcode in SEQUENTIAL:
                self.entry[instr] = self._tick()
                for callee in instr.called:
                    if callee in self.site:
                        text = f"%{callee.name} is run by %{instr.name} and by"
                        message = f"{text} %{self.site[callee].name}"
                        notes = [f"run the pass flatten-call-graph first; {_MANY}"]
                        raise HloError("HLO170", message, instr.span, notes)
                    self.site[callee] = instr
                    yield self._computation(callee)
            self.time[instr] = self._tick()
            self.order.append(instr)
        self.last[computation] = self._tick()

    def _find_loops(self, entry: Computation) -> None:
        """Callers come before callees in the order in which `first` was filled."""
        self.loop[entry] = None
        for computation in self.first:
            if computation is entry:
                continue
            site = self.site[computation]
            home = self.home[site]
            self.loop[computation] = (
                WhileInterval(self.entry[site], self.time[site], home)
                if site.opcode == "while"
                else self.loop[home]
            )
