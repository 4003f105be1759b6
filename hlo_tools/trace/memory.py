"""The buffer assignment and live ranges of a module, as data for a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emit_c.program.assigned import assigned
from hlo.errors.error import HloError
from hlo_tools.trace.kernels import c_emission

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.memory.buffer_assignment import Allocation


def memory(module: Module) -> dict[str, Any]:
    """The allocations with the values in each: offset, bytes, and spans of time that are inclusive.

    Returns
    -------
    dict
        `order`: the names of instructions, one a moment; `allocations`: each with `size`, `kind`
        and `values`.
    """
    try:
        assignment = c_emission(module).program.assignment
    except HloError:
        assignment = assigned(module).assignment
    timeline = assignment.buffers.flow.timeline
    order = sorted(timeline.order, key=lambda instr: timeline.time[instr])
    return {
        "order": [[timeline.time[instr], instr.name] for instr in order],
        "allocations": [
            {
                "size": allocation.size,
                "kind": kind_of(allocation),
                "values": [
                    [value.name, offset, value.shape.bytes, str(value.shape), list(value.live)]
                    for buffer, offset in allocation.buffers.items()
                    for value in buffer.values
                    if value.kind != "output"
                ],
            }
            for allocation in assignment.allocations
        ],
    }


def kind_of(allocation: Allocation) -> str:
    """The kind of an allocation."""
    if allocation.parameter is not None:
        return "parameter"
    if allocation.constant:
        return "constant"
    if allocation.thread_local is not None:
        return "thread-local"
    return "output" if allocation.output is not None else "temporary"
