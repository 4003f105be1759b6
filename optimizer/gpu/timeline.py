"""A simulated run of a computation on a GPU, instruction by instruction, and its picture.

The host issues instructions in their order. The main stream runs kernels one after the other; what
is started asynchronously runs beside it, in the lane of its own (network, copies, another stream),
from when its operands are there; and where it is waited for, the main stream stops. Kernels
in different lanes don't slow each other, which is true of small ones.

    compute    [dot              ][fusion   ]......[add]
    network                      [all-reduce       ]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hlo.opcode import DONE, STARTS
from optimizer.gpu.device import COMPUTE, DeviceRates, lane, runs, seconds
from optimizer.settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hlo.instruction import Instruction

WIDTH = 72
# A box of fewer columns has no room for a name.
NARROW = 5


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The time in which an instruction runs: seconds from the start, and in which lane."""

    instr: Instruction
    lane: str
    start: float
    end: float


class Clock:
    """The time of each lane while instructions are issued one by one.

    Parameters
    ----------
    seconds_of : the time of an instruction; that of the device's own rates if None.

    Attributes
    ----------
    spans : what has run.
    ready : when the value of each instruction is there.
    """

    def __init__(
        self, device: DeviceRates, seconds_of: Callable[[Instruction], float] | None = None
    ) -> None:
        self.seconds_of = seconds_of or partial(seconds, device=device)
        self.now: dict[str, float] = {COMPUTE: 0.0}
        self.ready: dict[Instruction, float] = {}
        self.spans: list[TimeSpan] = []

    def issue(self, instr: Instruction) -> None:
        """Run an instruction, or start it, or wait for it."""
        needed = [self.ready[i] for i in (*instr.operands, *instr.control_predecessors)]
        there = max(needed, default=0.0)
        if instr.opcode in DONE:
            self.now[COMPUTE] = self.ready[instr] = max(there, self.now[COMPUTE])
        elif not runs(instr):
            self.ready[instr] = there
        else:
            self.run(instr, there)

    def run(self, instr: Instruction, there: float) -> None:
        """Let an instruction take its time in its lane."""
        where = lane_of(instr)
        begins = max(there, self.now.get(where, 0.0), self.now[COMPUTE])
        ends = begins + self.seconds_of(instr)
        self.now[where] = self.ready[instr] = ends
        if instr.opcode not in STARTS:
            self.now[COMPUTE] = ends
        self.spans.append(TimeSpan(instr, where, begins, ends))


def lane_of(instr: Instruction) -> str:
    """The lane in which an instruction runs.

    Kernels that are started asynchronously have their own stream.
    """
    where = lane(instr)
    if where == COMPUTE and instr.opcode == "async-start":
        return f"stream {stream_of(instr)}"
    return where


def stream_of(instr: Instruction) -> int:
    """The stream that the backend configuration names; 0 is the main one."""
    config = settings(instr.annotations.backend_config) or {}
    number = str(config.get("operation_queue_id", "0"))
    return int(number) if number.isdecimal() else 0


def simulate(
    order: Iterable[Instruction],
    device: DeviceRates,
    seconds_of: Callable[[Instruction], float] | None = None,
) -> list[TimeSpan]:
    """The time span of each instruction, issued in the computation's order."""
    clock = Clock(device, seconds_of)
    for instr in order:
        clock.issue(instr)
    return clock.spans


def picture(spans: Sequence[TimeSpan]) -> str:
    """A line of text for each lane, time to the right, and the time that it takes in all."""
    total = max((span.end for span in spans), default=0.0)
    lanes = sorted({span.lane for span in spans}, key=lambda name: (name != COMPUTE, name))
    lines = [f"{name:>10} {_row([s for s in spans if s.lane == name], total)}" for name in lanes]
    return "\n".join([*lines, f"{'':>10} {total * 1e6:.1f} microseconds"])


def _row(spans: Sequence[TimeSpan], total: float) -> str:
    """One lane: each instruction in brackets over the time that it takes."""
    row = [" "] * WIDTH
    for left, right, instrs in _boxes(spans, total):
        room = right - left - 2
        label = _label(instrs, room)
        row[left:right] = f"[{label[:room]:<{room}}]" if room >= 0 else "|" * (right - left)
    return "".join(row[:WIDTH])


def _label(instrs: Sequence[Instruction], room: int) -> str:
    """A name; of a box of several, how many they are, and the opcodes of most, as room allows."""
    if len(instrs) == 1:
        return instrs[0].name
    label, mark = f"{len(instrs)} instructions", ": "
    for opcode, number in Counter(i.opcode for i in instrs).most_common():
        longer = f"{label}{mark}{number} {opcode}"
        if len(longer) > room:
            break
        label, mark = longer, ", "
    return label


def _boxes(spans: Sequence[TimeSpan], total: float) -> list[tuple[int, int, list[Instruction]]]:
    """First and last column of each box with what runs in it; narrow neighbours share one."""
    boxes: list[tuple[int, int, list[Instruction]]] = []
    narrow = False
    for span in spans:
        left = min(round(span.start / total * WIDTH), WIDTH - 1)
        right = max(left + 1, round(span.end / total * WIDTH))
        alone, narrow = not narrow, right - left < NARROW
        if boxes and narrow and not alone and left <= boxes[-1][1]:
            first, _, instrs = boxes.pop()
            boxes.append((first, max(right, first + 1), [*instrs, span.instr]))
        else:
            boxes.append((left, right, [span.instr]))
    return boxes
