"""Loops and branches over values with run-time sizes, which they hand on beside the arrays.

A fusion of such values gives way to its body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hlo.instruction import Computation
from hlo.sharded import with_sharding
from hlo.types.shape import tuple_of
from hlo.types.sharding import Sharding
from hlo.walk import called_first
from optimizer.dynamic_padder.padding import (
    changes_sizes,
    in_order,
    padded_body,
    waiting_as_before,
)
from optimizer.dynamic_padder.rules import require, rule, unruled
from optimizer.dynamic_padder.values import Padded, Tree, instruction_of, padded_leaves
from optimizer.expanders.parts import number
from optimizer.partitioning.wishes import leaves_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


REPLICATED = Sharding("replicated")
# Shardings of an array of any shape.
ONE_OF_ALL = frozenset({"maximal", "manual"})


@rule("conditional")
def conditional(instr: Instruction, which: Padded, *arguments: Tree) -> Tree:
    """All branches yield the sizes that one of them has."""
    if not _has_sizes(instr, arguments):
        return unruled(instr, which, *arguments)
    pairs = zip(instr.called, arguments, strict=True)
    branches = [_converted(branch, argument, instr) for branch, argument in pairs]
    operands = (which.value, *(make("tuple", *_parts(argument)) for argument in arguments))
    return _results(instr, operands, branches)


@rule("while")
def while_(instr: Instruction, state: Tree) -> Tree:
    """The state holds the sizes."""
    if not _has_sizes(instr, [state]):
        return unruled(instr, state)
    state = _sized(state, instr.shape, instr)
    condition, body = instr.called
    called = (_converted(condition, state), _converted(body, state, instr))
    return _results(instr, (make("tuple", *_parts(state)),), called)


@rule("fusion")
def fusion(instr: Instruction, *operands: Tree) -> Tree:
    """The padded body: one kernel is no promise, and later passes fuse it anew."""
    if not _has_sizes(instr, operands):
        return unruled(instr, *operands)
    body = instr.called[0]
    return padded_body(body, dict(zip(body.parameters, operands, strict=True)))[body.root]


def _has_sizes(instr: Instruction, operands: Sequence[Tree]) -> bool:
    leaves = [leaf for operand in operands for leaf in padded_leaves(operand)]
    return any(leaf.sizes for leaf in leaves) or any(
        map(changes_sizes, called_first(*instr.called))
    )


def _converted(
    computation: Computation, argument: Tree, owner: Instruction | None = None
) -> Computation:
    """A computation of an argument's arrays and sizes.

    Parameters
    ----------
    owner : whose results it yields, with their sizes; if None, it yields its root's array.
    """
    shape = tuple_of(*(part.shape for part in _parts(argument)))
    parameter = make("parameter", number=0, shape=shape)
    substitutes = {computation.parameters[0]: _restored(argument, _elements(parameter))}
    trees = padded_body(computation, substitutes)
    tree = trees[computation.root]
    if owner:
        root = make("tuple", *_parts(_sized(tree, owner.shape, owner)))
    else:
        root = instruction_of(tree)
    order = in_order([Padded(parameter), *trees.values(), Padded(root)])
    converted = Computation(computation.name, tuple(order), root, computation.execution_thread)
    return waiting_as_before(converted, trees)


def _results(
    instr: Instruction, operands: Sequence[Instruction], called: Sequence[Computation]
) -> Tree:
    """The results of an instruction that hands sizes on; its last computation yields the same."""
    like = _sized(_blank(instr.shape), instr.shape, instr)
    shardings = list(_shardings(like, instr))
    result = instr.with_(
        operands=tuple(operands),
        shape=called[-1].root.shape,
        called=tuple(called),
        control_predecessors=(),
    )
    if instr.annotations.sharding is None:
        return _restored(like, _elements(result))
    if not result.shape.compatible(instr.shape):
        result = with_sharding(result, Sharding("tuple", elements=tuple(shardings)))
    return _restored(like, map(with_sharding, _elements(result), shardings))


def _shardings(tree: Tree, instr: Instruction) -> Iterator[Sharding]:
    """The shardings of a value's arrays and sizes, in order; each device knows the sizes."""
    for leaf, (_, _, found_sharding) in zip(padded_leaves(tree), leaves_of(instr), strict=True):
        sharding = found_sharding or REPLICATED
        yield sharding
        yield from [sharding if sharding.kind in ONE_OF_ALL else REPLICATED] * len(leaf.sizes)


def _sized(tree: Tree, shape: Shape, owner: Instruction) -> Tree:
    """A value that has sizes just where a shape says so."""
    if isinstance(tree, tuple):
        pairs = zip(cast("tuple[Tree, ...]", tree), shape.elements, strict=True)
        return tuple(_sized(element, inner, owner) for element, inner in pairs)
    dynamic = [d for d in range(shape.rank) if shape.dynamic_at(d)] if shape.is_array else []
    require(owner, set(tree.sizes) <= set(dynamic), "its result does not show all run-time sizes")
    return Padded(tree.value, {d: tree.sizes.get(d) or number(shape.dims[d]) for d in dynamic})


def _blank(shape: Shape) -> Tree:
    """A value of a shape, of which only the form counts."""
    if shape.is_tuple:
        return tuple(map(_blank, shape.elements))
    return Padded(make("parameter", number=0, shape=shape))


def _parts(tree: Tree) -> list[Instruction]:
    """The arrays and sizes of a value, in order."""
    return [x for leaf in padded_leaves(tree) for x in (leaf.value, *leaf.sizes.values())]


def _restored(like: Tree, parts: Iterator[Instruction]) -> Tree:
    """A value with the sizes of another one, from its arrays and sizes in order."""
    if isinstance(like, tuple):
        return tuple(_restored(element, parts) for element in cast("tuple[Tree, ...]", like))
    return Padded(next(parts), {d: next(parts) for d in like.sizes})


def _elements(whole: Instruction) -> Iterator[Instruction]:
    for i in range(len(whole.shape.elements)):
        yield make("get-tuple-element", whole, index=i)
