"""Transformations of the results and operands of conditionals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.effects import has_effect, without_dead
from hlo.types.shape import tuple_of
from hlo.walk import Plan, rebuild
from optimizer.loops.narrow import narrow_parameter
from optimizer.loops.state import element_of, elements_taken, is_taken_apart
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from optimizer.conditionals.branches import ConditionalSite


def elements_used(site: ConditionalSite) -> set[int] | None:
    """The elements of its value that are used; None if the value is used as a whole."""
    used = {element_of(user, site.instr) for user in site.users}
    if site.is_root or not site.instr.shape.is_tuple or None in used:
        return None
    return {i for i in used if i is not None}


def merged_results(site: ConditionalSite) -> Plan:
    """Takes one for the other of two elements that are the same instruction in every branch.

    References
    ----------
    XLA, `MergeDuplicateTupleElements` in `xla/service/conditional_simplifier.cc`.
    """
    used, roots = elements_used(site), [c.root for c in site.instr.called]
    if not used or any(root.opcode != "tuple" for root in roots):
        return {}
    first: dict[tuple[Instruction, ...], int] = {}
    same = {i: first.setdefault(tuple([r.operands[i] for r in roots]), i) for i in sorted(used)}
    if all(i == j for i, j in same.items()):
        return {}
    results = sorted(set(same.values()))
    return with_results(site, results, {i: results.index(j) for i, j in same.items()})


def unused_results(site: ConditionalSite) -> Plan:
    """Removes elements of the value that nobody uses; if nobody uses any, it is an empty tuple.

    References
    ----------
    XLA, `RemoveUnusedTupleElements` and `ReplaceRootWithEmptyTupleIfNoUsers` in
    `xla/service/conditional_simplifier.cc`.
    """
    instr, used = site.instr, elements_used(site)
    # Without users and effects it is dead, and not worth the work.
    if not site.users and not site.is_root and has_effect(instr):
        return {} if instr.shape == tuple_of() else with_results(site, (), {})
    if not used or len(used) == len(instr.shape.elements):
        return {}
    results = sorted(used)
    return with_results(site, results, {i: n for n, i in enumerate(results)})


def with_results(site: ConditionalSite, results: Sequence[int], where: dict[int, int]) -> Plan:
    """A conditional that yields a tuple of some elements, and users that take them from there.

    Parameters
    ----------
    where : for each element that is used, its new index.
    """
    instr = site.instr
    branches = [without_dead(yielding(site, branch, results)) for branch in site.branches()]
    new = instr.with_(shape=branches[0].root.shape, called=tuple(branches))
    plan = {instr: new}
    for user in site.users:
        i = element_of(user, instr)
        if i is not None:
            attrs = replace(user.attrs, index=where[i])
            plan[user] = user.with_(operands=(new,), attrs=attrs)
    return plan


def yielding(site: ConditionalSite, branch: Computation, results: Sequence[int]) -> Computation:
    """A branch that yields only some elements of its tuple."""
    root = branch.root
    if root.opcode == "tuple":
        elements = [root.operands[i] for i in results]
    else:
        elements = [site.named(make("get-tuple-element", root, index=i)) for i in results]
    new = site.named(make("tuple", *elements))
    body = tuple(dict.fromkeys((*branch.instructions, *elements, new)))
    return replace(branch, instructions=body, root=new)


def unused_operands(site: ConditionalSite) -> Plan:
    """Passes to a branch only those elements of its operand that it takes.

    References
    ----------
    XLA, `TryRemoveUnusedConditionalOperands` in `xla/service/conditional_simplifier.cc`.
    """
    instr = site.instr
    if not any(wasted(branch) for branch in instr.called):
        return {}
    operands, branches = [instr.operands[0]], site.branches()
    for n, operand in enumerate(instr.operands[1:]):
        branch, narrower = branches[n], operand
        if wasted(branch):
            numbers = sorted(set(elements_taken(branch).values()))
            branches[n] = rebuild(branch, narrow_parameter(branch, numbers, {}, site.names))
            elements = [element(site, operand, i) for i in numbers]
            narrower = site.named(make("tuple", *elements))
        operands.append(narrower)
    return {instr: instr.with_(operands=tuple(operands), called=tuple(branches))}


def wasted(branch: Computation) -> bool:
    """Whether a branch takes its operand apart, and not all elements of it."""
    shape = branch.parameters[0].shape
    taken = set(elements_taken(branch).values())
    return shape.is_tuple and is_taken_apart(branch) and len(taken) < len(shape.elements)


def element(site: ConditionalSite, whole: Instruction, i: int) -> Instruction:
    """An element of a tuple: the operand of a `tuple` instruction, else a get-tuple-element."""
    if whole.opcode == "tuple":
        return whole.operands[i]
    return site.named(make("get-tuple-element", whole, index=i))
