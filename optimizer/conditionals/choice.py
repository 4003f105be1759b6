"""Transformations that take conditionals away: one branch is enough, or both can be computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.effects import has_effect
from hlo.opcode import GIVEN, TUPLES
from hlo.types.element_type import PRED
from optimizer.calls.clone import inlined
from optimizer.identity import Identity
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from hlo.walk import Plan
    from optimizer.conditionals.branches import ConditionalSite

# Beside elementwise ones, these cost no more than the select that comes after them: the list of
# XLA's `ConditionalSimplifier::TryRemoveConditional`, which leaves out other views on purpose.
_CHEAP = (
    TUPLES
    | GIVEN
    | {*("broadcast", "concatenate", "dynamic-slice", "pad", "reduce", "reshape", "slice")}
)
_EMPTY = TUPLES | {"parameter"}


def known_branch(site: ConditionalSite) -> Plan:
    """The branch that a constant chooses, or the only one, takes the conditional's place.

    References
    ----------
    XLA, `ConditionalSimplifier::TryRemoveConditional`.
    """
    instr, index = site.instr, chosen_branch(site.instr)
    return {} if index is None or has_effect(instr) else {instr: branch_inlined(site, index)}


def chosen_branch(instr: Instruction) -> int | None:
    """The number of the branch that runs, if that is known."""
    last = len(instr.called) - 1
    value = value_of(instr.operands[0])
    if last == 0:
        return 0
    if value is None:
        return None
    index = int(value) if instr.operands[0].shape.element_type is not PRED else int(not value)
    return index if 0 <= index <= last else last


def identical_branches(site: ConditionalSite) -> Plan:
    """A conditional whose branches are equal and get the same operand is any of them."""
    instr, identity = site.instr, Identity(is_layout_sensitive=True)
    if len(set(instr.operands[1:])) != 1:
        return {}
    if len({identity.of(branch) for branch in instr.called}) != 1 or has_effect(instr):
        return {}
    return {instr: branch_inlined(site, 0)}


def cheap_branches(site: ConditionalSite) -> Plan:
    """Computes both of two cheap branches, and selects.

    Not if one of them computes nothing: then a select may cost more than the conditional.

    References
    ----------
    XLA, `ConditionalSimplifier::TryRemoveConditional`.
    """
    instr = site.instr
    by_pred = instr.operands[0].shape.element_type is PRED
    cheap = all(is_cheap(i) for branch in instr.called for i in branch.instructions)
    if not by_pred or not cheap or has_effect(instr) or any(map(is_empty, instr.called)):
        return {}
    if any(not shape.is_array or shape.is_dynamic for _, shape in instr.shape.leaves()):
        return {}
    return {instr: both(site)}


def is_cheap(instr: Instruction) -> bool:
    """Whether an instruction costs no more than a select."""
    return instr.opcode in _CHEAP or (instr.row.elementwise and instr.opcode != "map")


def is_empty(branch: Computation) -> bool:
    """Whether a branch computes nothing, and yields arrays."""
    arrays = any(shape.is_array for _, shape in branch.root.shape.leaves())
    return arrays and all(i.opcode in _EMPTY for i in branch.instructions)


def branch_inlined(site: ConditionalSite, index: int) -> Instruction:
    """A branch's body in the conditional's place."""
    instr = site.instr
    return inlined(instr.called[index], (instr.operands[1 + index],), site.names)


def both(site: ConditionalSite) -> Instruction:
    """Both branches, and a select of each array that they yield."""
    return selected(site, branch_inlined(site, 0), branch_inlined(site, 1))


def selected(site: ConditionalSite, on_true: Instruction, on_false: Instruction) -> Instruction:
    """One of two values, as the conditional's pred says; tuples element by element."""
    shape, pred = on_true.shape, site.instr.operands[0]
    if shape.is_tuple:
        pairs = [
            [site.named(make("get-tuple-element", whole, index=i)) for whole in (on_true, on_false)]
            for i in range(len(shape.elements))
        ]
        return site.named(make("tuple", *[selected(site, *pair) for pair in pairs]))
    if shape.dims:
        wide = shape.with_type(PRED)
        pred = site.named(make("broadcast", pred, shape=wide, dimensions=()))
    return site.named(make("select", pred, on_true, on_false))
