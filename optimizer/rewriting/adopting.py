"""Takes new instructions into a computation, in the place of an old one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from hlo.instruction import Instruction
    from hlo.names import NameSupply


def adopted(
    root: Instruction,
    old: Instruction,
    there: Container[Instruction],
    names: NameSupply,
    *,
    divided: bool = False,
) -> list[Instruction]:
    """The new instructions of a replacement, operands first, with names and annotations.

    A replacement of the same opcode takes the old name, too, unless it needs the old instruction.

    Parameters
    ----------
    there : the instructions that are not new.
    divided : whether others of the old shape than the root get the old sharding, too.
    """
    if root in there:
        return [root]
    fresh = new_below(root, there)
    keeps = root.opcode == old.opcode and not any(old in instr.operands for instr in fresh)
    alike = {i for i in fresh if divided and i.shape.compatible(old.shape)}
    new = named(fresh, old, names, {root} | alike, root if keeps else None)
    return list(new.values())


def in_place_of(root: Instruction, old: Instruction) -> Instruction:
    """A new instruction with the layout of the old one, and after what that waited for."""
    return root.with_(shape=old.shape, control_predecessors=old.control_predecessors)


def named(
    fresh: Iterable[Instruction],
    old: Instruction,
    names: NameSupply,
    sharded: Container[Instruction] = (),
    same: Instruction | None = None,
) -> dict[Instruction, Instruction]:
    """New instructions, operands first, with names of their own and the annotations of an old one.

    The backend configuration of a new custom call stays, for it holds the call's options.

    Parameters
    ----------
    sharded : those that are divided among devices as the old one is.
    same : the one that takes the old name.
    """
    renamed: dict[Instruction, Instruction] = {}
    for instr in fresh:
        config = instr.annotations.backend_config if instr.opcode == "custom-call" else ""
        notes = old.annotations.inherited(old.annotations.sharding if instr in sharded else None)
        renamed[instr] = instr.with_(
            name=old.name if instr is same else names.unique(instr.opcode),
            operands=tuple([renamed.get(o, o) for o in instr.operands]),
            annotations=replace(notes, backend_config=config) if config else notes,
            span=old.span,
        )
    return renamed


def new_below(root: Instruction, there: Container[Instruction]) -> list[Instruction]:
    """The new instructions that an instruction needs, itself included; operands first."""
    order: dict[Instruction, None] = {}
    stack = [] if root in there else [root]
    while stack:
        instr = stack[-1]
        pending = [o for o in instr.operands if o not in there and o not in order]
        if pending:
            stack += pending
        else:
            order[instr] = None
            stack.pop()
    return list(order)
