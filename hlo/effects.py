"""Side effects: instructions that do more than compute a value, and so must stay.

References
----------
XLA, `HloInstruction::HasSideEffect` and `HloComputation::IsSafelyRemovable`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hlo.opcode import OPCODES, having
from hlo.support.memo import remembered
from hlo.walk import needed_first

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from hlo.instruction import Computation, Instruction

# These order or hide values but do nothing themselves: unused, they may go.
_ORDERING = having("effect") - having("device")
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
    if instr.called and any(map(_acts, instr.called)):
        return True
    return instr.opcode not in _HARMLESS and has_own_effect(instr)


# All devices run one module, and so leave out the same ones of these.
_EXCHANGES = having("collective") - having("async")


def only_exchanges(instr: Instruction) -> bool:
    """Whether all that an instruction does is compute a value, for which devices meet."""
    return instr.opcode in _EXCHANGES and not any(map(_acts, instr.called))


# Of computations, which never change.
_KNOWN: WeakKeyDictionary[Computation, bool] = WeakKeyDictionary()


def _acts(computation: Computation) -> bool:
    """Whether any instruction of a computation has an effect."""
    if computation not in _KNOWN:
        # Callees first, so that each is looked at once, and no call goes deeper than one level.
        unknown = needed_first([computation], lambda c: [d for d in c.callees if d not in _KNOWN])
        for callee in unknown:
            quiet = not callee.callees and callee.opcodes <= _HARMLESS
            _KNOWN[callee] = not quiet and any(map(has_effect, callee.instructions))
    return _KNOWN[computation]


@remembered
def ordered(computation: Computation) -> frozenset[Instruction]:
    """Instructions that control dependencies tie to others, on either side."""
    tied: set[Instruction] = set()
    for instr in computation.instructions:
        if instr.control_predecessors:
            tied.add(instr)
            tied.update(instr.control_predecessors)
    return frozenset(tied)


@remembered
def dead(computation: Computation) -> tuple[Instruction, ...]:
    """Instructions that nobody needs: neither used by needed ones, nor with effects, nor ordered.

    Parameters are never dead, since callers pass them.
    """
    needed = {computation.root, *ordered(computation)}
    for instr in reversed(computation.instructions):
        if instr in needed or instr.opcode == "parameter" or has_effect(instr):
            needed.add(instr)
            needed.update(instr.operands)
    return tuple([i for i in computation.instructions if i not in needed])


def without(computation: Computation, gone: Iterable[Instruction]) -> Computation:
    """A computation without some instructions that nobody uses."""
    left_out = set(gone)
    if not left_out:
        return computation
    instructions = tuple(i for i in computation.instructions if i not in left_out)
    return replace(computation, instructions=instructions)


def without_named(computation: Computation, gone: Container[str]) -> Computation:
    """A computation without some collectives that nobody uses: their effect keeps them from DCE."""
    return without(computation, [i for i in computation.instructions if i.name in gone])


def without_dead(computation: Computation) -> Computation:
    """A computation without its dead instructions."""
    return without(computation, dead(computation))
