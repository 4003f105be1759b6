"""Indexing maps: the element of an operand that an element of the result copies.

Each opcode that moves elements and computes nothing stands here once. Loops of kernels are made of
these maps (`codegen.opcodes.movement`), and fusion asks them where kernels can share a loop
(`optimizer.fusion.digits`) and where they would have to divide (`optimizer.fusion.skew`).

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
    """An operand and the place of one of its elements, under conditions that must all hold."""

    operand: Instruction
    place: Index
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
    if opcode in _SEVERAL:
        return _SEVERAL[opcode](instr, index)
    return [Copied(instr.operands[0], _ONE[opcode](instr, index))] if opcode in _ONE else ()


def per_dimension(instr: Instruction, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts for each dimension of an operand that is broadcast or transposed.

    Parameters
    ----------
    parts : one for each dimension of the result.
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
    found = [Sum(0)] * len(into)
    for old, new in groups_of_many(into, dims):
        number = linear(tuple([index[d] for d in new]), [dims[d] for d in new])
        for d, part in zip(old, delinear(number, [into[d] for d in old]), strict=True):
            found[d] = part
    return tuple(found)


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
    """The element of that operand in whose range the index is."""
    (d,) = a.Dimensions.of(instr).dimensions
    found: list[Copied] = []
    start = 0
    for operand in instr.operands:
        end = start + operand.shape.dims[d]
        if index[d].high >= start and end > start:
            here = bounded(index, [Within(index[d], start, end)])
            place = (*here[:d], here[d] + -start, *here[d + 1 :])
            # Earlier operands have been asked already, so only the end matters.
            condition = Within(index[d], min(start, index[d].low), end)
            found.append(Copied(operand, place, (condition,)))
        start = end
    return found


_ONE: dict[str, Callable[[Instruction, Index], Index]] = {
    "bitcast": bitcast,
    "broadcast": per_dimension,
    "reshape": reshaped,
    "reverse": reversed_index,
    "slice": sliced,
    "transpose": per_dimension,
}
_SEVERAL = {"concatenate": concatenated, "pad": padded}


def number_in_memory(shape: Shape, index: Index) -> Sum:
    """The number in memory of an element."""
    order = shape.memory_order
    return linear(tuple([index[d] for d in order]), [shape.dims[d] for d in order])


def at_number(shape: Shape, number: Sum) -> Index:
    """The index of the element with a number in memory."""
    order = shape.memory_order
    place = dict(zip(order, delinear(number, [shape.dims[d] for d in order]), strict=True))
    return tuple([place[d] for d in range(shape.rank)])
