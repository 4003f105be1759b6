"""Derivatives of opcodes that move elements: each is linear, and its transpose moves them back.

y = broadcast(x)        x^ = sum of y^ over the new dimensions
y = slice(x)            x^ = y^ with zeros around and between
y = concatenate(x, z)   x^, z^ = slices of y^
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.opcode import FORWARDING, having
from hlo.types.values import PaddingDim, SliceDim
from optimizer.derivative.table import (
    Leaves,
    adder,
    again,
    differentiates,
    linear_in,
    nothing,
    total,
    transposes,
    zeros,
)
from optimizer.dimensions import inverse
from optimizer.expanders.parts import cut, number, permuted, to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction

Cotangents = list["Instruction | None"]

differentiates.define_all(dict.fromkeys(having("device_number"), nothing))
# Small changes of operands, if there are any, change none of these.
differentiates.define_all(
    dict.fromkeys(
        (
            *("parameter", "constant", "iota", "after-all", "get-dimension-size"),
            *("rng", "rng-bit-generator", "rng-get-and-update-state"),
        ),
        nothing,
    )
)
# Each moves elements of all of its operands.
differentiates.define_all(
    dict.fromkeys(
        ("broadcast", "reshape", "transpose", "reverse", "slice", "copy", "pad", "concatenate"),
        linear_in(),
    )
)
differentiates.define_all(dict.fromkeys(("dynamic-slice",), linear_in(0)))
differentiates.define_all(dict.fromkeys(("dynamic-update-slice",), linear_in(0, 1)))


@differentiates(*FORWARDING)
def identity(_instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The tangents of the operand."""
    return tangents[0]


@differentiates("tuple")
def tuple_(_instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The tangents of all elements."""
    return tuple(leaf for leaves in tangents for leaf in leaves)


@differentiates("get-tuple-element")
def get_tuple_element(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The tangents of one element."""
    first, count = leaf_range(instr)
    return tangents[0][first : first + count]


def leaf_range(instr: Instruction) -> tuple[int, int]:
    """The first leaf that a get-tuple-element takes of its operand, and how many."""
    index, elements = a.GetTupleElement.of(instr).index, instr.operands[0].shape.elements
    return sum(e.leaf_count for e in elements[:index]), elements[index].leaf_count


@transposes("tuple")
def tuple_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> list[Leaves]:
    """The cotangents of each element."""
    leaves: list[Leaves] = []
    for operand in instr.operands:
        first = sum(map(len, leaves))
        leaves.append(cotangents[first : first + operand.shape.leaf_count])
    return leaves


@transposes("get-tuple-element")
def element_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> list[Leaves]:
    """Zeros for the other elements."""
    first, count = leaf_range(instr)
    last = instr.operands[0].shape.leaf_count - first - count
    return [(*(None,) * first, *cotangents, *(None,) * last)]


@transposes("copy")
def copy_back(_instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> list[Leaves]:
    """The cotangent itself."""
    return [cotangents]


@transposes("broadcast")
def broadcast_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The sum over the new dimensions, in the operand's order of dimensions."""
    (ct,), dimensions = cotangents, a.Broadcast.of(instr).dimensions
    assert ct is not None
    summed = total(ct, [d for d in range(ct.shape.rank) if d not in dimensions])
    return [permuted(summed, [sorted(dimensions).index(d) for d in dimensions])]


@transposes("reshape")
def reshape_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The reshape back."""
    (ct,) = cotangents
    assert ct is not None
    return [to_dims(ct, instr.operands[0].shape.dims)]


@transposes("transpose")
def transpose_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The inverse permutation."""
    (ct,) = cotangents
    assert ct is not None
    return [permuted(ct, inverse(a.Dimensions.of(instr).dimensions))]


@transposes("reverse")
def reverse_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The same reversal."""
    (ct,) = cotangents
    assert ct is not None
    return [again(instr, ct)]


@transposes("slice")
def slice_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """Zeros for the elements that were left out."""
    (ct,), (x,) = cotangents, instr.operands
    assert ct is not None
    padding: list[PaddingDim] = []
    for part, n, size in zip(a.Slice.of(instr).slice, x.shape.dims, ct.shape.dims, strict=True):
        last = part.start + max(size - 1, 0) * part.stride + min(size, 1)
        padding.append(PaddingDim(part.start, n - last, part.stride - 1))
    return [surrounded(ct, padding)]


def surrounded(x: Instruction, padding: Sequence[PaddingDim]) -> Instruction:
    """An array with zeros around and between its elements."""
    if all(p == PaddingDim(0, 0, p.interior) for p in padding) and not any(
        p.interior and n > 1 for p, n in zip(padding, x.shape.dims, strict=True)
    ):
        return x
    return make("pad", x, number(0, x.shape.element_type), padding=tuple(padding))


@transposes("pad")
def pad_back(instr: Instruction, cotangents: Leaves, linear: Sequence[bool]) -> Cotangents:
    """A slice for the array; for the padding the sum of the rest."""
    (ct,), (x, _) = cotangents, instr.operands
    assert ct is not None
    inside = unpadded(ct, a.Pad.of(instr).padding, x.shape.dims)
    outside = None
    if linear[1]:
        everywhere = total(ct, range(ct.shape.rank))
        outside = make("subtract", everywhere, total(inside, range(inside.shape.rank)))
    return [inside if linear[0] else None, outside]


def unpadded(x: Instruction, padding: Sequence[PaddingDim], dims: Sequence[int]) -> Instruction:
    """The elements of a padded array that were there before, of `dims`; zeros if cropped."""
    ends = [PaddingDim(-p.low, -p.high) for p in padding]
    cropped = surrounded(x, ends)
    if all(p.interior == 0 for p in padding):
        return cropped
    pairs = zip(padding, cropped.shape.dims, strict=True)
    ranges = tuple(SliceDim(0, n, p.interior + 1) for p, n in pairs)
    part = make("slice", cropped, slice=ranges)
    assert part.shape.dims == tuple(dims)
    return part


@transposes("concatenate")
def concatenate_back(instr: Instruction, cotangents: Leaves, linear: Sequence[bool]) -> Cotangents:
    """The part of each operand."""
    (ct,), (axis,) = cotangents, a.Dimensions.of(instr).dimensions
    assert ct is not None
    parts: Cotangents = []
    start = 0
    for operand, wanted in zip(instr.operands, linear, strict=True):
        limit = start + operand.shape.dims[axis]
        parts.append(cut(ct, axis, start, limit) if wanted else None)
        start = limit
    return parts


@transposes("dynamic-slice")
def dynamic_slice_back(
    instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> Cotangents:
    """Zeros with the slice at the same place: both clamp its start in the same way."""
    (ct,), (x, *starts) = cotangents, instr.operands
    assert ct is not None
    updated = make("dynamic-update-slice", zeros(x.shape), ct, *starts)
    return [updated, *[None] * len(starts)]


@transposes("dynamic-update-slice")
def dynamic_update_slice_back(
    instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> Cotangents:
    """The slice for the update, and zeros in its place for the array."""
    (ct,), (_, update, *starts) = cotangents, instr.operands
    assert ct is not None
    sizes = update.shape.dims
    inside = make("dynamic-slice", ct, *starts, dynamic_slice_sizes=sizes)
    outside = make("dynamic-update-slice", ct, zeros(update.shape), *starts)
    return [
        outside if linear[0] else None,
        inside if linear[1] else None,
        *[None] * len(starts),
    ]


def added(x: Instruction | None, y: Instruction | None) -> Instruction | None:
    """The sum of two cotangents; one that is zero but for a part is added to that part alone.

    A loop whose iterations each read a slice of an array sums their cotangents in place so.
    """
    if x is None or y is None:
        return y if x is None else x
    for whole, part in ((x, y), (y, x)):
        if part.opcode == "dynamic-update-slice" and is_zero(part.operands[0]):
            _, update, *starts = part.operands
            old = make("dynamic-slice", whole, *starts, dynamic_slice_sizes=update.shape.dims)
            return make("dynamic-update-slice", whole, make("add", old, update), *starts)
        if part.opcode == "scatter" and is_zero(part.operands[0]) and adds(part.called[0]):
            return again(part, whole, *part.operands[1:])
    return make("add", x, y)


def adds(computation: Computation) -> bool:
    """Whether a computation adds two scalars."""
    return computation is adder(computation.root.shape.element_type)


def is_zero(x: Instruction) -> bool:
    """Whether an instruction is made as zeros."""
    return (x.opcode == "broadcast" and is_zero(x.operands[0])) or (
        x.opcode == "constant" and not x.shape.dims and not a.Constant.of(x).literal.array
    )
