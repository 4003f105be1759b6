"""Indexing maps: the element of an operand that an element of the result copies.

Each opcode that moves elements and computes nothing has its map here, and nowhere else. Emitters
write kernels by these maps (`codegen.opcodes.movement`); fusion finds by them which kernels can
share a loop (`optimizer.fusion.digits`) and which would have to divide (`optimizer.fusion.skew`).

References
----------
XLA, `xla/hlo/analysis/indexing_map.h` and `indexing_analysis.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hlo import attributes as a
from hlo.types.grouping import groups_of_many
from optimizer.analysis.indexing import Index, Sum, Within, bounded, delinear, linear
from optimizer.dimensions import inverse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

Part = TypeVar("Part")


class Copied(NamedTuple):
    """An operand and the index of one of its elements, under conditions that must all hold."""

    operand: Instruction
    source_index: Index
    conditions: tuple[Within, ...] = ()


def sources(instr: Instruction, index: Index) -> Sequence[Copied]:
    """The elements that an element of the result may copy; none if the opcode computes it.

    Returns
    -------
    sequence of Copied
        in order: the element is that of the first source whose conditions hold, and of the last one
        if those of no other do.
    """
    opcode = instr.opcode
    if opcode in _WITH_CONDITIONS:
        return _WITH_CONDITIONS[opcode](instr, index)
    return (
        [Copied(instr.operands[0], _UNCONDITIONAL[opcode](instr, index))]
        if opcode in _UNCONDITIONAL
        else ()
    )


def per_dimension(instr: Instruction, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The entries of an index, of a broadcast or transpose, that index its operand.

    Parameters
    ----------
    parts : an entry for each dimension of the result.
    """
    dims = a.Dimensions.of(instr).dimensions
    if instr.opcode == "transpose":
        dims = inverse(dims)
    return tuple([parts[d] for d in dims])


def reshaped(instr: Instruction, index: Index) -> Index:
    """The element with the same row-major number."""
    dims, into = instr.shape.dims, instr.operands[0].shape.dims
    if len(index) != len(dims) or 0 in dims:
        return delinear(linear(index, dims), into)
    parts = [Sum(0)] * len(into)
    for old, new in groups_of_many(into, dims):
        number = linear(tuple([index[d] for d in new]), [dims[d] for d in new])
        for d, part in zip(old, delinear(number, [into[d] for d in old]), strict=True):
            parts[d] = part
    return tuple(parts)


def reversed_index(instr: Instruction, index: Index) -> Index:
    """Element i of a flipped dimension of size n is element n - 1 - i."""
    flipped, dims = a.Dimensions.of(instr).dimensions, instr.shape.dims
    parts = enumerate(index)
    return tuple([part * -1 + (dims[d] - 1) if d in flipped else part for d, part in parts])


def sliced(instr: Instruction, index: Index) -> Index:
    """Element i is element start + i * stride."""
    pairs = zip(index, a.Slice.of(instr).slice, strict=True)
    return tuple([i * s.stride + s.start for i, s in pairs])


def bitcast(instr: Instruction, index: Index) -> Index:
    """The element with the same number in memory, of a type with as many bits."""
    return at_number(instr.operands[0].shape, number_in_memory(instr.shape, index))


def padded(instr: Instruction, index: Index) -> list[Copied]:
    """The operand's element where there is one, else the padding value."""
    operand, padding = instr.operands
    edges = a.Pad.of(instr).padding
    inside = tuple(
        Within(part + -p.low, 0, (n - 1) * (p.interior + 1) + 1, p.interior + 1)
        for part, n, p in zip(index, operand.shape.dims, edges, strict=True)
    )
    pairs = zip(bounded(index, inside), edges, strict=True)
    source = tuple([(part + -p.low) // (p.interior + 1) for part, p in pairs])
    return [Copied(operand, source, inside), Copied(padding, ())]


def concatenated(instr: Instruction, index: Index) -> list[Copied]:
    """The element of the operand whose range along the dimension holds the index."""
    (d,) = a.Dimensions.of(instr).dimensions
    copies: list[Copied] = []
    start = 0
    for operand in instr.operands:
        end = start + operand.shape.dims[d]
        if index[d].high >= start and end > start:
            here = bounded(index, [Within(index[d], start, end)])
            inside = (*here[:d], here[d] + -start, *here[d + 1 :])
            # The index is not in an earlier operand, so only the end is a condition.
            condition = Within(index[d], min(start, index[d].low), end)
            copies.append(Copied(operand, inside, (condition,)))
        start = end
    return copies


_UNCONDITIONAL: dict[str, Callable[[Instruction, Index], Index]] = {
    "bitcast": bitcast,
    "broadcast": per_dimension,
    "reshape": reshaped,
    "reverse": reversed_index,
    "slice": sliced,
    "transpose": per_dimension,
}
_WITH_CONDITIONS = {"concatenate": concatenated, "pad": padded}


def number_in_memory(shape: Shape, index: Index) -> Sum:
    """The number of an element in the order of memory."""
    order = shape.memory_order
    return linear(tuple([index[d] for d in order]), [shape.dims[d] for d in order])


def at_number(shape: Shape, number: Sum) -> Index:
    """The index of the element with a number in the order of memory."""
    order = shape.memory_order
    index = dict(zip(order, delinear(number, [shape.dims[d] for d in order]), strict=True))
    return tuple([index[d] for d in range(shape.rank)])
