"""The number of runs of each computation, by the notes at loops, and of operations in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.opcode import SEQUENTIAL
from hlo.walk import called_first
from optimizer.analysis.cost import cost
from optimizer.settings import settings

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module

# The guess for a loop whose trip count is not known.
UNKNOWN_TRIPS = 16


def runs(module: Module) -> dict[Computation, int]:
    """The runs of each computation in one run of the module, callers before callees.

    The branches of a conditional count as if each ran, and a loop's condition as its body.

    References
    ----------
    XLA, `known_trip_count` of `WhileLoopBackendConfig` in `xla/xla_data.proto`.
    """
    counts = {module.entry: 1}
    for computation in reversed(called_first(module.entry)):
        times = counts.setdefault(computation, 1)
        for instr in computation.instructions if computation.callees else ():
            count = times * trips(instr) if instr.opcode == "while" else times
            for callee in dict.fromkeys(instr.called):
                counts[callee] = counts.get(callee, 0) + count
    return counts


def trips(loop: Instruction) -> int:
    """The trip count of a while loop, or a guess."""
    noted = noted_trips(loop)
    return UNKNOWN_TRIPS if noted is None else noted


def noted_trips(loop: Instruction) -> int | None:
    """The trip count of a while loop, by the note of `while-loop-trip-count-annotator`, if any."""
    noted = settings(loop.annotations.backend_config) or {}
    match noted.get("known_trip_count"):
        case {"n": str(count)} if count.isdecimal():
            return int(count)
        case _:
            return None


def operations(module: Module) -> dict[Instruction, int]:
    """Operations and stored elements of each instruction, in all turns of the loops around it.

    Loops whose trip counts are not known count as 16 turns.
    """
    counts: dict[Instruction, int] = {}
    inside = {c for i in module.instructions() if i.opcode not in SEQUENTIAL for c in i.called}
    for computation, times in runs(module).items():
        for instr in () if computation in inside else computation.instructions:
            if instr.opcode not in SEQUENTIAL:
                spent = cost(instr)
                stored = sum(s.size for _, s in instr.shape.leaves() if s.is_array)
                work = spent.flops + spent.transcendentals + stored * (spent.bytes_written > 0)
                counts[instr] = times * work
    return counts
