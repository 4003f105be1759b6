"""The order in which XLA prints: operands before users, callees before callers.

The text of a module that is not scheduled says nothing about the order in which its instructions
run, so XLA prints them in the order of a depth-first walk, which starts from those without users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module


def instruction_order(computation: Computation) -> tuple[Instruction, ...]:
    """The instructions in XLA's post-order; the same order if they already stand in it."""
    used: set[Instruction] = set()
    for instr in computation.instructions:
        used.update(instr.operands, instr.control_predecessors)
    order: list[Instruction] = []
    done: dict[Instruction, bool] = {}
    for start in computation.instructions:
        if start in used:
            continue
        stack = [start]
        while stack:
            instr = stack[-1]
            if instr not in done:
                done[instr] = False
                pending = [i for i in (*instr.operands, *instr.control_predecessors)]
                stack += [i for i in reversed(pending) if i not in done]
                continue
            stack.pop()
            if not done[instr]:
                done[instr] = True
                order.append(instr)
    return tuple(order)


def computation_order(module: Module) -> tuple[Computation, ...]:
    """The computations with callees before callers; those of sugared async forms left out."""
    return module.computations
