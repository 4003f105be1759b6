"""Cases of fewer instructions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes.annotations import NO_ANNOTATIONS
from hlo.build import module as module_of
from hlo.effects import without_dead
from hlo.errors.error import HloError
from hlo.opcode import GIVEN, SEQUENTIAL
from hlo.walk import names_of, post_order, rebuild, rebuild_module
from hlo_tools.generate.resizing import with_entry
from hlo_tools.search.shrink.case import Case, bare
from hlo_tools.search.shrink.states import narrower_loops
from hlo_tools.values.arrays import tree
from hlo_tools.values.bounded import EndlessError, run, running
from optimizer.calls.call_inliner import CallInliner
from optimizer.calls.clone import inlined
from optimizer.log import Log
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape

Value = Any  # an array, None for a token, or a tuple of values


def fewer(case: Case) -> Iterator[Case]:
    """Cases that do less, those that leave out most first."""
    module, entry = case.module, case.module.entry
    yield Case(bare(module), case.arguments)
    yield from unannotated(case)
    yield from roots(case)
    yield from dead_alone(case)
    yield from callees_alone(case)
    yield from opened(case)
    yield from without_parts(case)
    yield from operands_instead(case)
    yield from parameters_instead(case)
    yield from narrower_loops(case)
    yield from inner(case)
    yield from merged(case)
    yield from unneeded(case)
    for instr in entry.instructions:
        if instr.control_predecessors:
            free = instr.with_(control_predecessors=())
            yield case.with_entry(rebuild(entry, {instr: free}))


def unannotated(case: Case) -> Iterator[Case]:
    """All instructions without metadata and the like, or one of them."""
    noted = [i for i in case.module.instructions() if i.annotations != NO_ANNOTATIONS]
    for some in (noted, *([i] for i in noted)):
        plan = {i: i.with_(annotations=NO_ANNOTATIONS) for i in some}
        smaller = rebuild_module(case.module, lambda c, plan=plan: rebuild(c, plan))
        yield Case(with_entry(smaller, smaller.entry), case.arguments)


def roots(case: Case) -> Iterator[Case]:
    """An earlier instruction as the result."""
    entry = case.module.entry
    for instr in entry.instructions:
        if instr is not entry.root and instr.opcode != "parameter":
            yield case.with_entry(replace(entry, root=instr))


def dead_alone(case: Case) -> Iterator[Case]:
    """An instruction that the result does not need, beside one of its operands as the result.

    Without operands, it is put beside a parameter or constant.
    """
    entry = case.module.entry
    alive = set(without_dead(entry).instructions)
    for instr in entry.instructions:
        if instr in alive or instr.opcode == "parameter":
            continue
        others = instr.operands or tuple(i for i in entry.instructions if i.opcode in GIVEN)
        for root in dict.fromkeys(others[:2]):
            needed = {*post_order(instr), *post_order(root), *entry.parameters}
            left = tuple(i for i in entry.instructions if i in needed)
            if root is not instr and len(left) < len(entry.instructions):
                yield case.with_entry(replace(entry, instructions=left, root=root), dead=True)


def zero_array(shape: Shape) -> NDArray[Any]:
    """The array of a shape that is zero everywhere."""
    return np.zeros(shape.dims, shape.element_type.dtype)


def callees_alone(case: Case) -> Iterator[Case]:
    """A called computation as the entry, on zeros, with its dead instructions."""
    for computation in running(case.module):
        shapes = [p.shape for p in computation.parameters]
        if computation is not case.module.entry and not any(s.is_dynamic for s in shapes):
            zeros = tuple(tree(s, zero_array) for s in shapes)
            arguments = None if case.arguments is None else zeros
            yield Case(module_of(computation, case.module.name), arguments)


def without_parts(case: Case) -> Iterator[Case]:
    """A tuple of fewer elements as the result."""
    entry = case.module.entry
    root = entry.root
    if root.opcode == "tuple" and len(root.operands) > 1:
        for n in range(len(root.operands)):
            left = root.operands[:n] + root.operands[n + 1 :]
            fewer_parts = make("tuple", *left).with_(name=root.name)
            yield case.with_entry(rebuild(entry, {root: fewer_parts}))


def unneeded(case: Case) -> Iterator[Case]:
    """Fewer instructions that the result does not need; one at a time, if they matter."""
    entry = case.module.entry
    alive = set(without_dead(entry).instructions)
    if all(i in alive or i.opcode == "parameter" for i in entry.instructions):
        return
    for instr in entry.instructions:
        if instr not in alive and not any(instr in i.operands for i in entry.instructions):
            left = tuple(i for i in entry.instructions if i is not instr)
            yield case.with_entry(replace(entry, instructions=left), dead=True)
        if instr is not entry.root and instr.shape.compatible(entry.root.shape):
            yield case.with_entry(replace(entry, root=instr), dead=True)
        for operand in dict.fromkeys(instr.operands):
            if operand.shape.compatible(instr.shape):
                yield case.with_entry(rebuild(entry, {instr: operand}), dead=True)


def opened(case: Case) -> Iterator[Case]:
    """Modules with a callee in the entry: a branch for a conditional, an iteration for a loop."""
    module = case.module
    for instr in module.entry.instructions:
        if instr.opcode in SEQUENTIAL - {"call"} | {"fusion", "map"}:
            for n, callee in enumerate(instr.called):
                if callee.root.shape.compatible(instr.shape):
                    operands = instr.operands[n + 1 : n + 2]
                    if instr.opcode != "conditional":
                        # A fusion may ignore its last operands; a call may not.
                        operands = instr.operands[: len(callee.parameters)]
                    call = make("call", *operands, called=[callee])
                    call = call.with_(name=names_of(module).unique("call"))
                    entry = rebuild(module.entry, {instr: call})
                    yield within(case, with_entry(module, entry))
                    # A call in it may be the very one that matters.
                    body = inlined(callee, operands, names_of(module))
                    yield case.with_entry(rebuild(module.entry, {instr: body}))
        if instr.opcode == "while":
            yield from second_iteration(case, instr)
    yield within(case, module)


def second_iteration(case: Case, loop: Instruction) -> Iterator[Case]:
    """The body in the place of a loop, on the state that its first iteration leaves."""
    names, body = names_of(case.module), loop.called[1]
    first = make("call", *loop.operands, called=[body]).with_(name=names.unique("call"))
    second = inlined(body, [first], names)
    unrolled = case.with_entry(rebuild(case.module.entry, {loop: second}))
    for instr in unrolled.module.entry.instructions:
        if instr.name == first.name and (smaller := cut(unrolled, instr)) is not None:
            yield smaller


def within(case: Case, module: Module) -> Case:
    """The case of a module in which bodies stand for the calls of them."""
    smaller = CallInliner().run(module, Log())
    return Case(smaller, case.arguments).with_entry(smaller.entry)


def operands_instead(case: Case) -> Iterator[Case]:
    """One of its operands in the place of an instruction."""
    entry = case.module.entry
    for instr in entry.instructions:
        for operand in dict.fromkeys(instr.operands):
            if operand.shape.compatible(instr.shape):
                yield case.with_entry(rebuild(entry, {instr: operand}))


def parameters_instead(case: Case) -> Iterator[Case]:
    """A parameter in the place of an instruction, and its value as an argument."""
    entry = case.module.entry
    for instr in entry.instructions:
        if instr.opcode != "parameter" and instr is not entry.root and instr.shape.is_array:
            smaller = cut(case, instr)
            if smaller is not None:
                yield smaller


def cut(case: Case, instr: Instruction) -> Case | None:
    """A parameter in the place of one instruction; None if that has no value."""
    entry, arguments = case.module.entry, case.arguments
    if arguments is not None:
        until = with_entry(case.module, without_dead(replace(entry, root=instr)))
        try:
            value = run(replace(until, header=bare(until).header), arguments)
        except (HloError, EndlessError):
            return None
        arguments = (*arguments, value)
    name = names_of(case.module).unique("p")
    parameter = make("parameter", shape=instr.shape, number=len(entry.parameters))
    changed = rebuild(entry, {instr: parameter.with_(name=name)})
    return Case(case.module, arguments).with_entry(changed)


def inner(case: Case) -> Iterator[Case]:
    """Less in the computations that are called; but an order must stay one, and a sum too."""
    for computation in running(case.module):
        if computation is case.module.entry:
            continue
        for instr in computation.instructions:
            if instr.control_predecessors:
                free = instr.with_(control_predecessors=())
                yield changed_inside(case, computation, {instr: free})
            others = [*instr.operands, *computation.parameters]
            for other in dict.fromkeys(others):
                if other is not instr and other.shape.compatible(instr.shape):
                    yield changed_inside(case, computation, {instr: other})


def changed_inside(
    case: Case, computation: Computation, plan: dict[Instruction, Instruction]
) -> Case:
    """The case with a plan carried out in one computation that is called."""

    def change(other: Computation) -> Computation:
        if other.name != computation.name:
            return other
        own = {i.name: i for i in other.instructions}
        there = {
            own[old.name]: own[new.name] if new in computation.instructions else new
            for old, new in plan.items()
        }
        return without_dead(rebuild(other, there))

    smaller = rebuild_module(case.module, change)
    return Case(smaller, case.arguments).with_entry(smaller.entry)


def merged(case: Case) -> Iterator[Case]:
    """One parameter or constant in the place of two of the same shape."""
    entry = case.module.entry
    leaves = [i for i in entry.instructions if i.opcode in GIVEN]
    for n, second in enumerate(leaves):
        for first in leaves[:n]:
            if first.shape.compatible(second.shape):
                yield case.with_entry(rebuild(entry, {second: first}))
                if second.opcode == "constant" and not second.shape.dims:
                    # Of larger ones, the numbers that matter may be lost when they are cut.
                    yield case.with_entry(rebuild(entry, {first: second}))
