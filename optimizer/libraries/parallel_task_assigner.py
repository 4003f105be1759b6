"""Notes at large instructions in how many parts their outer dimensions are to be computed.

    e = f32[4096,512] exponential(x)   =>   ..., backend_config={"outer_dimension_partitions":["8"]}

Who emits code may give each part to a thread of its own. What only moves bytes gets few parts,
since threads share the memory's bandwidth; what computes gets as many as the work is worth. Our C
backend divides its loops itself, when it knows them, so no standard pipeline runs this.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING

from hlo.opcode import CONTROL, HOST
from optimizer.analysis.cost import FREE, cost
from optimizer.passes import register
from optimizer.rewriting.sites import rebuild_unfused, replace_each
from optimizer.settings import settings

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

# They run as they are, or are divided by the library that they call: the list of XLA's
# `ParallelTaskAssignment::GetTargetParallelTaskCount`.
WHOLE = (
    (FREE | CONTROL | HOST)
    | {"custom-call", "dot", "fft", "reshape", "rng", "scatter", "select-and-scatter", "sort"}
    | {"dynamic-slice", "dynamic-update-slice"}
)
# XLA's: bytes that a thread is worth where an instruction is limited by memory, and cost units
# where not.
LEAST_BYTES = 256 << 10
LEAST_COST = 100_000


@register
@dataclass(frozen=True)
class ParallelTaskAssigner:
    """Divides large instructions along their outer dimensions.

    Attributes
    ----------
    threads : parts, at most.
    """

    name = "cpu-parallel-task-assigner"
    xla = "xla/service/cpu/parallel_task_assignment.cc and shape_partition.cc"
    threads: int = 8

    def run(self, module: Module, log: Log) -> Module:
        """The module with notes."""

        def noted(instr: Instruction) -> Instruction | None:
            parts = partitions(instr, parallelism(instr, self.threads))
            old = instr.annotations.backend_config
            if not parts or "outer_dimension_partitions" in old:
                return None
            known = settings(old)
            if known is None:
                return None
            config = {"outer_dimension_partitions": list(map(str, parts)), **known}
            text = json.dumps(config, separators=(",", ":"))
            return instr.with_(annotations=replace(instr.annotations, backend_config=text))

        return replace_each(module, log, "partition", noted, rebuild_unfused)


def parallelism(instr: Instruction, threads: int) -> int:
    """The number of threads that an instruction is worth."""
    if instr.opcode in WHOLE or not instr.shape.is_array or instr.shape.is_dynamic:
        return 1
    if instr.row.traits & {"async", "collective", "effect"}:
        return 1
    spent = cost(instr)
    work = spent.flops + 2 * spent.transcendentals
    if work <= spent.bytes_accessed:
        # Limited by memory: more threads than its square root only wait for each other.
        return min(isqrt(threads) + 1, spent.bytes_accessed // LEAST_BYTES)
    return min(threads, (work + 10 * spent.bytes_accessed) // LEAST_COST)


def partitions(instr: Instruction, parts: int) -> list[int]:
    """Into how many parts to cut the outermost dimensions, slowest first; [] for not at all."""
    counts: list[int] = []
    for dim in instr.shape.memory_order if instr.shape.layout else ():
        if parts <= 1:
            break
        count = min(instr.shape.dims[dim], parts)
        counts.append(count)
        parts //= max(count, 1)
    return counts if any(count > 1 for count in counts) else []
