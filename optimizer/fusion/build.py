"""Makes fusion instructions of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import NO_ATTRS, Fusion, ParameterNumber
from hlo.instruction import Computation, Instruction
from hlo.types.shape import tuple_of
from optimizer.fusion.policy import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hlo.names import NameSupply

# How many opcodes a fusion's name tells.
_WORDS = 3


def fused(
    members: Sequence[Instruction],
    roots: Sequence[Instruction],
    names: NameSupply,
    named: Collection[Instruction],
    kind: str = "kLoop",
) -> Instruction:
    """A fusion that computes some instructions and yields the values of some of them.

    Parameters
    ----------
    members : what is computed, each after its operands; those that no root needs are left out.
    roots : those whose values it yields; a tuple of them if there are several.
    named : instructions that exist nowhere else from now on, so that they keep their names.

    Returns
    -------
    Instruction
        whose operands are instructions outside the group, and which has the first root's metadata.
    """
    needed = set(roots)
    for member in reversed(members):
        needed.update(member.operands if member in needed else ())
    members = [m for m in members if m in needed]
    inside = set(members)
    operands = list(dict.fromkeys(o for m in members for o in m.operands if o not in inside))
    copies: dict[Instruction, Instruction] = {}
    for number, operand in enumerate(operands):
        name = names.unique(f"param_{number}")
        attrs = ParameterNumber(number=number)
        copies[operand] = Instruction(name, "parameter", operand.shape, (), attrs)
    for member in members:
        copies[member] = member.with_(
            name=member.name if member in named else names.unique(member.name),
            operands=tuple([copies[o] for o in member.operands]),
        )
    body = list(copies.values())
    root = copies[roots[0]]
    if len(roots) > 1:
        parts = tuple([copies[r] for r in roots])
        shape = tuple_of(*(r.shape for r in roots))
        root = Instruction(names.unique("tuple"), "tuple", shape, parts, NO_ATTRS)
        body.append(root)
    computation = Computation(names.unique("fused_computation"), tuple(body), root)
    return Instruction(
        names.unique(_name(members)), "fusion", root.shape, tuple(operands), Fusion(kind=kind),
        (computation,), annotations=roots[0].annotations,
    )  # fmt: skip


def _name(members: Sequence[Instruction]) -> str:
    """The last few opcodes that compute something: `multiply_add_reduce_fusion`."""
    silent = {"constant", "get-tuple-element", *MOVEMENT}
    opcodes = [m.opcode for m in members if m.opcode not in silent] or [members[-1].opcode]
    words = list(dict.fromkeys(reversed(opcodes)))[:_WORDS]
    return "_".join(reversed(words)).replace("-", "_") + "_fusion"
