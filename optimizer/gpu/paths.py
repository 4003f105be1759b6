"""Critical paths: the least time from an instruction to the end of its computation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.gpu.device import seconds

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from optimizer.gpu.device import DeviceRates


def needed_by(computation: Computation) -> dict[Instruction, list[Instruction]]:
    """The instructions that wait for each one, as users or by control dependencies."""
    users_of: dict[Instruction, list[Instruction]] = {i: [] for i in computation.instructions}
    for instr in computation.instructions:
        for needed in dict.fromkeys((*instr.operands, *instr.control_predecessors)):
            users_of[needed].append(instr)
    return users_of


def paths_to_end(computation: Computation, device: DeviceRates) -> dict[Instruction, float]:
    """Seconds of the longest chain from each instruction on, itself included."""
    users = needed_by(computation)
    paths: dict[Instruction, float] = {}
    for instr in reversed(computation.instructions):
        after = max((paths[user] for user in users[instr]), default=0.0)
        paths[instr] = seconds(instr, device) + after
    return paths
