"""From which instruction to which one each value is needed, in the order of a computation.

References
----------
XLA, `xla/hlo/utils/hlo_live_range.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction

# Their value is their operands' memory under another name.
FORWARDING = frozenset(
    {"tuple", "get-tuple-element", "bitcast", "opt-barrier", "domain", "add-dependency"}
)


@dataclass(frozen=True, slots=True)
class LiveRange:
    """A value is made by instruction number `first` and needed until number `last`."""

    first: int
    last: int

    def overlaps(self, other: LiveRange) -> bool:
        """Whether both values exist at some moment.

        A value that ends where another begins is read while that one is written, so they overlap.
        """
        return self.first <= other.last and other.first <= self.last


def live_ranges(computation: Computation) -> dict[Instruction, LiveRange]:
    """The live range of every value that takes memory of its own.

    Parameters belong to the caller, so they live from the beginning to the end; what the root
    hands out lives to the end. Whoever uses a tuple uses all that it holds.
    """
    end = len(computation.instructions) - 1
    last: dict[Instruction, int] = {}
    for number, instr in reversed(list(enumerate(computation.instructions))):
        if instr is computation.root or instr.opcode == "parameter":
            last[instr] = end
        until = last.setdefault(instr, number) if instr.opcode in FORWARDING else number
        for operand in instr.operands:
            last[operand] = max(last.get(operand, 0), until)
    return {
        instr: LiveRange(0 if instr.opcode == "parameter" else number, last.get(instr, number))
        for number, instr in enumerate(computation.instructions)
        if instr.opcode not in FORWARDING
    }


def peak_bytes(computation: Computation) -> int:
    """The most bytes that values take at one moment, if each gives its memory back at once."""
    change = [0] * (len(computation.instructions) + 1)
    for instr, live in live_ranges(computation).items():
        change[live.first] += instr.shape.bytes
        change[live.last + 1] -= instr.shape.bytes
    peak = now = 0
    for step in change:
        now += step
        peak = max(peak, now)
    return peak
