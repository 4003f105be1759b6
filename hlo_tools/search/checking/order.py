"""Order, which values do not show: instructions that wait, and memory not to be overwritten.

No value tells whether an instruction ran after another on which it does not depend. A control
dependency says that it must, and so does a token that comes from an instruction with an effect; so
where both are still there, it still must. In the same way no value
of the interpreter, which never reuses memory, tells that a copy is missing: that buffers can be
assigned to a module that is scheduled has to be proved before the pass and after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.effects import has_effect
from hlo.errors.error import HloError
from optimizer.fusion.kernels import sequential_computations
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.check import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.instruction import Computation, Instruction, Module

# The words of buffer assignment where values overwrite each other.
OVERWRITTEN = ("HLO171", "HLO172")


def broken_order(before: Module, after: Module) -> str | None:
    """The instruction that may now run before one for which it had to wait; None if none may."""
    computations = {c.name: c for c in after.computations}
    for computation in before.computations:
        if not any(i.control_predecessors or has_token(i) for i in computation.instructions):
            continue
        left = computations.get(computation.name)
        if left is None or after.header.is_scheduled:
            continue
        wrong = _lost_dependency(computation, left)
        if wrong is not None:
            first, second = wrong
            return f"%{second.name} no longer waits for %{first.name}"
    return None


def _lost_dependency(before: Computation, after: Computation) -> tuple[Instruction, ...] | None:
    """Two instructions that stayed, but whose order did not."""
    was = {i.name: i for i in before.instructions}
    # An instruction that was made anew may have the name of one that is gone.
    there = {i.name: i for i in after.instructions if i.name in was and is_same(i, was[i.name])}
    behind = _earlier(after, lambda i: (*i.operands, *i.control_predecessors))
    by_token = _earlier(before, lambda i: tuple(filter(has_token, i.operands)))
    for instr in before.instructions:
        acting = [i for i in by_token[instr] if has_effect(i)] if has_effect(instr) else []
        for first in (*instr.control_predecessors, *acting):
            second = there.get(instr.name)
            if second is None or first.name not in there:
                continue
            if there[first.name] not in behind[second]:
                return first, instr
    return None


def is_same(instr: Instruction, other: Instruction) -> bool:
    """Whether an instruction with the name of another one does the same."""
    return (instr.opcode, instr.attrs, instr.shape) == (other.opcode, other.attrs, other.shape)


def has_token(instr: Instruction) -> bool:
    """Whether the value is a token, or a tuple with one."""
    return any(shape.is_token for _, shape in instr.shape.leaves())


def _earlier(
    computation: Computation, needs: Callable[[Instruction], tuple[Instruction, ...]]
) -> dict[Instruction, dict[Instruction, None]]:
    """The instructions that each one needs, at any depth, in order."""
    needed_by: dict[Instruction, dict[Instruction, None]] = {}
    for instr in computation.instructions:
        needed = needs(instr)
        needed_by[instr] = dict.fromkeys(needed)
        for operand in needed:
            needed_by[instr] |= needed_by[operand]
    return needed_by


def broken_memory(before: Module, after: Module) -> str | None:
    """The reason why a schedule no longer allows buffers to be shared; None where it still does."""
    if not (before.header.is_scheduled and after.header.is_scheduled):
        return None
    # Passes that know nothing of schedules may leave them to a later copy-insertion.
    if set(_copies(before)) <= set(_copies(after)):
        return None
    if _overwritten(before) is not None:
        return None
    return _overwritten(after)


def _copies(module: Module) -> Iterator[str]:
    """The names of the copies that have a buffer: none inside a fusion has one."""
    for computation in sequential_computations(module):
        yield from (i.name for i in computation.instructions if i.opcode == "copy")


def _overwritten(module: Module) -> str | None:
    try:
        check(assign(module))
    except HloError as error:
        return f"values overwrite each other: {error}" if error.code in OVERWRITTEN else None
    except Exception:
        # Buffer assignment does not know all that there is.
        return None
    return None
