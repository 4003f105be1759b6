"""Copies of computations and of their bodies, under fresh names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.names import NameSupply
from hlo.walk import called_first
from optimizer.origin import prefixed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Computation, Instruction


def inlined(
    computation: Computation,
    arguments: Sequence[Instruction],
    names: NameSupply,
    after: tuple[Instruction, ...] = (),
    path: str = "",
) -> Instruction:
    """The root of a computation, with arguments in place of its parameters.

    Parameters
    ----------
    after : instructions before which nothing of the body may run.
    path : the caller's `op_name`, which goes in front of those of the body.

    Returns
    -------
    Instruction
        the copy of the root; an argument itself if the root is a parameter.
    """
    return copied_body(computation, arguments, names, after, path)[-1]


def copied_body(
    computation: Computation,
    arguments: Sequence[Instruction],
    names: NameSupply,
    after: tuple[Instruction, ...] = (),
    path: str = "",
) -> list[Instruction]:
    """The copies of the instructions of a computation, and last the result of `inlined`."""
    prefix = path.removesuffix("/")
    became = dict(zip(computation.parameters, arguments, strict=True))
    for instr in computation.instructions:
        if instr not in became:
            notes = instr.annotations
            became[instr] = instr.with_(
                name=names.unique(instr.name),
                operands=tuple([became[o] for o in instr.operands]),
                control_predecessors=after + tuple([became[p] for p in instr.control_predecessors]),
                called=own_callees(instr, names),
                annotations=prefixed(notes, prefix) if prefix else notes,
            )
    root = became[computation.root]
    inputs = set(computation.parameters)
    return [*(new for old, new in became.items() if old not in inputs and new is not root), root]


def own_callees(instr: Instruction, names: NameSupply) -> tuple[Computation, ...]:
    """The callees of an instruction's copy: bodies that only one may call are copied too."""
    if instr.opcode not in ("fusion", "async-start"):
        return instr.called
    return tuple([cloned(c, names, lambda inner: own_callees(inner, names)) for c in instr.called])


def cloned(
    computation: Computation,
    names: NameSupply,
    callee: Callable[[Instruction], tuple[Computation, ...]] | None = None,
) -> Computation:
    """A copy of a computation, all of whose instructions are new.

    Parameters
    ----------
    callee : what an instruction of the copy calls; the same as the original's if None.
    """
    became: dict[Instruction, Instruction] = {}
    for instr in computation.instructions:
        became[instr] = instr.with_(
            name=names.unique(f"{instr.name}.clone"),
            operands=tuple([became[o] for o in instr.operands]),
            control_predecessors=tuple([became[p] for p in instr.control_predecessors]),
            called=callee(instr) if callee else instr.called,
        )
    return replace(
        computation,
        name=names.unique(f"{computation.name}.clone"),
        instructions=tuple(became.values()),
        root=became[computation.root],
    )


def reachable(computation: Computation) -> set[Instruction]:
    """The instructions that a computation's root needs."""
    instructions = {computation.root}
    for instr in reversed(computation.instructions):
        if instr in instructions:
            instructions.update(instr.operands)
            instructions.update(instr.control_predecessors)
    return instructions


def uniquely_named(entry: Computation) -> Computation:
    """The same instructions under names that are all different.

    The entry is first to choose, so that its names stay.
    """
    supply, titles = NameSupply(), NameSupply()
    computations = called_first(entry)
    names = {(c, i): supply.unique(i.name) for c in reversed(computations) for i in c.instructions}
    copies: dict[Computation, Computation] = {}
    for computation in computations:
        order: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            order[instr] = instr.with_(
                name=names[computation, instr],
                operands=tuple(order[o] for o in instr.operands),
                called=tuple(copies[c] for c in instr.called),
                control_predecessors=tuple(order[p] for p in instr.control_predecessors),
            )
        copies[computation] = replace(
            computation,
            name=titles.unique(computation.name),
            instructions=tuple(order.values()),
            root=order[computation.root],
        )
    return copies[entry]
