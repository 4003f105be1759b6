"""The order in which XLA prints: operands before users, callees before callers.

The text of a module that is not scheduled says nothing about the order in which its instructions
run, so XLA prints them in the order of a depth-first walk. Even in a scheduled module, what a
fusion computes has no schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import called_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Computation, Instruction, Module


def instruction_order(computation: Computation) -> tuple[Instruction, ...]:
    """The instructions in XLA's post-order; the same order if they already are in it."""
    used: set[Instruction] = set()
    for instr in computation.instructions:
        used.update(instr.operands)
    order: list[Instruction] = []
    emitted: dict[Instruction, bool] = {}
    for start in computation.instructions:
        if start in used:
            continue
        stack = [start]
        while stack:
            instr = stack[-1]
            if instr not in emitted:
                emitted[instr] = False
                stack += [i for i in reversed(instr.operands) if i not in emitted]
                stack += [i for i in instr.control_predecessors if i not in emitted]
                continue
            stack.pop()
            if not emitted[instr]:
                emitted[instr] = True
                order.append(instr)
    return tuple(order)


def fused_computations(module: Module) -> set[Computation]:
    """The computations that fusions call."""
    return {
        called
        for instr in module.instructions()
        if instr.opcode == "fusion"
        for called in instr.called
    }


def computation_order(module: Module) -> tuple[Computation, ...]:
    """All computations, each after those that it calls."""
    callees = {c: [d for i in c.instructions for d in i.called] for c in module.computations}
    called = {callee for callee_list in callees.values() for callee in callee_list}
    order: dict[Computation, None] = {}
    for root in module.computations:
        if root not in called:
            order.update(dict.fromkeys(_embedded(root)))
            order[root] = None
    # XLA's walk counts a computation as visited when it is met, before its callees are. So in
    # rare cases it prints one after its caller, and can't read its own text.
    position = {computation: i for i, computation in enumerate(order)}
    if all(position[d] < position[c] for c in order for d in callees[c]):
        return tuple(order)
    return tuple(called_first(*order))


def _embedded(root: Computation) -> list[Computation]:
    """The computations that another calls, directly or not, in XLA's post-order."""
    order: list[Computation] = []
    seen: set[Computation] = set()
    stack: list[tuple[Computation, Iterator[Instruction]]] = [(root, iter(root.instructions))]
    while stack:
        computation, rest = stack[-1]
        instr = next(rest, None)
        if instr is None:
            stack.pop()
            order.append(computation)
            continue
        # A while calls its body first, whatever the order in which it is written.
        called = instr.called if instr.opcode == "while" else instr.called[::-1]
        for callee in called:
            if callee not in seen:
                seen.add(callee)
                stack.append((callee, iter(callee.instructions)))
    return order[:-1]
