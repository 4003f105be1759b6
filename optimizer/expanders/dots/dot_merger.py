"""Makes one dot of two that share an operand.

dot(x, y), dot(x, z)   =>   d = dot(x, concatenate(y, z)), and slices of d

One large product uses a processor better than two small ones: x is read once.

The dots must not depend on each other, and the operands that are joined must have one free
dimension each, for that is where they are joined. Pairs are merged one after the other, since a
merged pair may put two other dots one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from hlo.walk import names_of, rebuild, rebuild_module
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.dot_decomposer import free_dims
from optimizer.expanders.parts import cut, joined
from optimizer.passes import register
from optimizer.rewriting.adopting import new_below
from optimizer.rewriting.sites import in_old_layouts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log

    Pair = tuple[Instruction, Instruction, int]


@register
@dataclass(frozen=True)
class DotMerger:
    """Merges dots that share an operand.

    Attributes
    ----------
    max_size_to_merge : bytes of operands and result of one dot; larger ones fill a processor.
    """

    name = "dot-merger"
    xla = "xla/hlo/transforms/simplifiers/dot_merger.cc"
    promise = ROUNDING
    max_size_to_merge: int = 32 << 20

    def run(self, module: Module, log: Log) -> Module:
        """The module in which no two small independent dots share an operand."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            # A merged dot can be merged again, and ties others together: no driver over sites does
            # one rewrite and looks anew.
            refused: set[tuple[str, str]] = set()
            while True:
                pair = next(pairs(computation, self.max_size_to_merge, refused), None)
                if pair is None:
                    return computation
                first, second, side = pair
                plan = merged(first, second, side, names)
                if log.rewrite("merge", second, *plan.values()):
                    computation = rebuild(computation, in_old_layouts(computation, plan))
                else:
                    refused.add((first.name, second.name))

        return rebuild_module(module, change)


def pairs(computation: Computation, limit: int, refused: set[tuple[str, str]]) -> Iterator[Pair]:
    """Two dots that can be merged, and which of their operands they share."""
    alike: dict[Hashable, list[Instruction]] = {}
    for instr in computation.instructions:
        if instr.opcode != "dot" or size(instr) > limit or instr.control_predecessors:
            continue
        for side in (0, 1):
            for first in alike.setdefault(key(instr, side), []):
                fresh = (first.name, instr.name) not in refused
                if fresh and joins(first, instr, side) and not depends(instr, first):
                    yield first, instr, side
            alike[key(instr, side)].append(instr)


def size(instr: Instruction) -> int:
    """Bytes of a dot's operands and result."""
    shapes = [instr.shape, *(operand.shape for operand in instr.operands)]
    return sum(shape.size * shape.element_type.bytes for shape in shapes)


def key(instr: Instruction, side: int) -> Hashable:
    """The key of dots that can be merged: the shared operand, all attributes, element types."""
    other = instr.operands[1 - side].shape.element_type
    return side, instr.operands[side], instr.attrs, other, instr.shape.element_type


def joined_dims(instr: Instruction, side: int) -> tuple[int, ...]:
    """The free dimensions of the operand that is not shared."""
    attrs = DotDims.of(instr)
    other = instr.operands[1 - side]
    if side == 0:
        return free_dims(other, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
    return free_dims(other, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)


def joins(first: Instruction, second: Instruction, side: int) -> bool:
    """Whether the operands that are not shared can be joined: one free dimension, static sizes."""
    free = joined_dims(first, side)
    both = [dot.operands[1 - side].shape for dot in (first, second)]
    return (
        len(free) == 1
        and joined_dims(second, side) == free
        and not any(shape.is_dynamic for shape in (*both, first.shape, second.shape))
    )


def depends(instr: Instruction, on: Instruction) -> bool:
    """Whether an instruction needs another one, at any distance."""
    seen, stack = {instr}, [instr]
    while stack:
        for needed in (*(top := stack.pop()).operands, *top.control_predecessors):
            if needed is on:
                return True
            if needed not in seen:
                seen.add(needed)
                stack.append(needed)
    return False


def merged(
    first: Instruction, second: Instruction, side: int, names: NameSupply
) -> dict[Instruction, Instruction]:
    """The slices of one dot that take the place of two."""
    shared, axis = first.operands[side], joined_dims(first, side)[0]
    others = [dot.operands[1 - side] for dot in (first, second)]
    both = joined(others, axis)
    # In the result, the free dimension of the rhs comes last; that of the lhs follows the batch.
    attrs = DotDims.of(first)
    result_axis = first.shape.rank - 1 if side == 0 else len(attrs.lhs_batch_dims)
    width, total = others[0].shape.dims[axis], both.shape.dims[axis]
    dims = list(first.shape.dims)
    dims[result_axis] = total
    operands = (shared, both) if side == 0 else (both, shared)
    product = first.with_(operands=operands, shape=first.shape.with_dims(tuple(dims)))
    slices = cut(product, result_axis, 0, width), cut(product, result_axis, width, total)
    origin = first.annotations.inherited()
    there = {first, second, shared, *others}
    copies: dict[Instruction, Instruction] = {}
    for part in slices:
        for new in new_below(part, there | copies.keys()):
            copies[new] = new.with_(
                name=names.unique(new.opcode),
                operands=tuple([copies.get(o, o) for o in new.operands]),
                annotations=origin,
            )
    return {first: copies[slices[0]], second: copies[slices[1]]}
