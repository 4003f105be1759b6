"""Which instructions do more than compute their value, and what may therefore be removed.

References
----------
XLA, `HloInstruction::HasSideEffect` and `HloComputation::IsSafelyRemovable`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.opcode import OPCODES
from hlo.walk import called_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hlo.instruction import Computation, Instruction

# These order or hide values but do nothing themselves: unused, they may go.
_ORDERING = frozenset({"opt-barrier", "after-all", "add-dependency"})
# Each run gives other numbers, so leaving one out would change those that follow.
_STATEFUL = frozenset({"rng"})
# These never do anything but compute their value. Nearly all instructions are asked after.
_HARMLESS = frozenset(
    name for name, row in OPCODES.items() if row.pure and name not in {*_STATEFUL, "custom-call"}
)


def has_own_effect(instr: Instruction) -> bool:
    """Whether an instruction does something itself, whatever the computations do that it calls."""
    if instr.opcode in _HARMLESS:
        return False
    traits, attrs = instr.row.traits, instr.attrs
    if instr.opcode in _STATEFUL:
        return True
    if "effect" in traits:
        return instr.opcode not in _ORDERING
    if "collective" in traits:
        # Other devices wait for those that have a channel.
        return "async" in traits or getattr(attrs, "channel_id", None) is not None
    return "async" in traits or getattr(attrs, "custom_call_has_side_effect", False)


def has_effect(instr: Instruction) -> bool:
    """Whether an instruction, or any that it calls at any depth, does something."""
    return has_own_effect(instr) or any(
        has_own_effect(inner)
        for computation in called_first(*instr.called)
        for inner in computation.instructions
    )


def effects() -> Callable[[Instruction], bool]:
    """`has_effect`, for many questions: each computation is looked at once."""
    known: dict[Computation, bool] = {}

    def computation_has(computation: Computation) -> bool:
        for each in [] if computation in known else called_first(computation):
            quiet = not each.callees and each.opcodes <= _HARMLESS
            known[each] = not quiet and any(map(ask, each.instructions))
        return known[computation]

    def ask(instr: Instruction) -> bool:
        # The computations that it calls are known already, since they come first.
        if instr.called and any(map(computation_has, instr.called)):
            return True
        return instr.opcode not in _HARMLESS and has_own_effect(instr)

    return ask


def ordered(computation: Computation) -> set[Instruction]:
    """Instructions that control dependencies tie to others, on either side."""
    tied: set[Instruction] = set()
    for instr in computation.instructions:
        if instr.control_predecessors:
            tied.add(instr)
            tied.update(instr.control_predecessors)
    return tied


def dead(computation: Computation) -> list[Instruction]:
    """Instructions that nobody needs: neither used by needed ones, nor with effects, nor ordered.

    Parameters are never dead, since callers pass them.
    """
    acts, needed = effects(), ordered(computation)
    needed.add(computation.root)
    for instr in reversed(computation.instructions):
        if instr in needed or instr.opcode == "parameter" or acts(instr):
            needed.add(instr)
            needed.update(instr.operands)
    return [i for i in computation.instructions if i not in needed]


def without(computation: Computation, gone: Iterable[Instruction]) -> Computation:
    """A computation without some instructions that nobody uses."""
    left_out = set(gone)
    if not left_out:
        return computation
    kept = tuple(i for i in computation.instructions if i not in left_out)
    return replace(computation, instructions=kept)


def without_dead(computation: Computation) -> Computation:
    """A computation without its dead instructions."""
    return without(computation, dead(computation))
