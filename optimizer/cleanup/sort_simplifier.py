"""Simplifies sorts: what need not be sorted is not.

s = (f32[8], s32[8]) sort(x, y), to_apply=less     (less compares elements of x)
ROOT r = f32[8] get-tuple-element(s), index=0      ROOT r = f32[8] sort(x), to_apply=less
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement, ParameterNumber, Sort
from hlo.effects import ordered, without, without_dead
from hlo.types.shape import tuple_of
from hlo.walk import Plan, callers, names_of, rebuild, users
from optimizer.calls.clone import cloned
from optimizer.passes import register
from optimizer.rewriting.make import make
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class SortSimplifier:
    """Removes sorts along dimensions of size 1, and operands that nobody looks at."""

    name = "simplify-sorts"
    xla = "xla/hlo/transforms/simplifiers/sort_simplifier.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with smaller sorts."""
        if not any("sort" in computation.opcodes for computation in module.computations):
            return module
        names = names_of(module)
        shared = {c.name for c, calling in callers(module).items() if len(calling) > 1}

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            sorts = [i for i in computation.instructions if i.opcode == "sort"]
            if not sorts:
                return
            users_of, tied = users(computation), ordered(computation)
            for instr in sorts:
                if instr in tied:
                    continue
                using = users_of[instr] if instr is not computation.root else None
                changes = nothing_to_sort(instr, names)
                changes = changes or unused_operands(instr, using, names, shared)
                if changes:
                    rewrites.add("simplify", instr, changes[instr], plan=changes)

        return rewrite_sites(module, log, visit, finish=without_dead)


def nothing_to_sort(instr: Instruction, names: NameSupply) -> Plan:
    """One element, or none, is sorted already."""
    (dim,) = Sort.of(instr).dimensions
    if instr.operands[0].shape.dims[dim] > 1:
        return {}
    if len(instr.operands) == 1:
        return {instr: instr.operands[0]}
    whole = make("tuple", *instr.operands)
    annotations = instr.annotations
    return {instr: whole.with_(name=names.unique("tuple"), annotations=annotations)}


def unused_operands(
    instr: Instruction, using: Sequence[Instruction] | None, names: NameSupply, shared: set[str]
) -> Plan:
    """Leaves out operands whose result nobody takes, and that the comparator does not compare.

    Parameters
    ----------
    using : users of the sort; None if its value is that of its computation.
    shared : names of comparators that others call too.
    """
    if using is None or not instr.shape.is_tuple or instr.annotations.sharding is not None:
        return {}
    if any(user.opcode != "get-tuple-element" for user in using):
        return {}
    (comparator,) = instr.called
    taken = {user: GetTupleElement.of(user).index for user in using}
    used = sorted(set(taken.values()) | operands_compared(comparator))
    if len(used) == len(instr.operands):
        return {}
    # At least one operand must stay, though a comparator may compare nothing.
    used = used or [0]
    if len(used) == 1 and any(user.annotations.sharding for user in using):
        return {}  # the array would take the place of a value whose sharding it lacks
    own = cloned(comparator, names) if comparator.name in shared else comparator
    operands = [instr.operands[i] for i in used]
    shapes = [operand.shape for operand in operands]
    new = instr.with_(
        operands=tuple(operands),
        shape=shapes[0] if len(used) == 1 else tuple_of(*shapes),
        called=(narrow_comparator(own, used),),
    )
    plan: Plan = {instr: new}
    for user, i in taken.items():
        attrs = replace(user.attrs, index=used.index(i))
        plan[user] = new if len(used) == 1 else user.with_(operands=(new,), attrs=attrs)
    return plan


def operands_compared(comparator: Computation) -> set[int]:
    """The operands of which a comparator uses an element."""
    used = {o for i in comparator.instructions for o in i.operands} | {comparator.root}
    return {number(p) // 2 for p in comparator.parameters if p in used}


def narrow_comparator(comparator: Computation, operands: Sequence[int]) -> Computation:
    """A comparator of only some operands: parameters 2i and 2i + 1 belong to operand i."""
    plan: Plan = {}
    for parameter in comparator.parameters:
        operand, side = divmod(number(parameter), 2)
        if operand in operands:
            attrs = replace(parameter.attrs, number=2 * operands.index(operand) + side)
            plan[parameter] = parameter.with_(attrs=attrs)
    gone = [p for p in comparator.parameters if p not in plan]
    return rebuild(without(comparator, gone), plan)


def number(parameter: Instruction) -> int:
    """The number of a parameter."""
    return ParameterNumber.of(parameter).number
