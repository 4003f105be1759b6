"""Rules whose left side joins operands along a dimension."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from hlo.attributes import Broadcast, Dimensions, Slice
from hlo.types.values import PaddingDim, SliceDim
from optimizer.dimensions import Dims, Operands, static, without
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import broadcast, concatenate, p, pad, reshape, slice_, x, xs
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(
    concatenate(xs, dimensions=p),
    where=static,
    xla="HandleConcatenate: concatenate without empty operands",
)
def concatenate_without_empty(xs: Operands, p: Dims) -> Instruction | None:
    """Leave out operands without elements."""
    pieces = [piece for piece in xs if piece.shape.dims[p[0]]]
    return make("concatenate", *pieces, dimensions=p) if 0 < len(pieces) < len(xs) else None


@rule(
    concatenate(xs, dimensions=p),
    where=static,
    xla="HandleConcatenate: concatenate(concatenate(A, B), C) => concatenate(A, B, C)",
)
def concatenate_of_concatenate(xs: Operands, p: Dims) -> Instruction | None:
    """Put the operands of operands in their place."""

    def parts(piece: Instruction) -> Operands:
        same = piece.opcode == "concatenate" and Dimensions.of(piece).dimensions == p
        return piece.operands if same else (piece,)

    flat = list(chain.from_iterable(map(parts, xs)))
    return make("concatenate", *flat, dimensions=p) if len(flat) > len(xs) else None


@rule(
    concatenate(xs, dimensions=p),
    where=static,
    xla=(
        'HandleConcatenate, "Check concatenate of slices": concatenate(slice(A, 0:i), '
        "slice(A, i:n)) => slice(A)"
    ),
)
def concatenate_of_adjacent_slices(xs: Operands, p: Dims) -> Instruction | None:
    """Join slices of one array that follow each other."""
    joined: list[Instruction] = [xs[0]]
    for piece in xs[1:]:
        both = _joined_slice(joined[-1], piece, p[0])
        joined[-1:] = [joined[-1], piece] if both is None else [both]
    return make("concatenate", *joined, dimensions=p) if len(joined) < len(xs) else None


def _joined_slice(one: Instruction, other: Instruction, along: int) -> Instruction | None:
    if one.opcode != "slice" or other.opcode != "slice" or one.operands != other.operands:
        return None
    first, second = Slice.of(one).slice, Slice.of(other).slice
    beside = without(range(len(first)), (along,))
    if any(first[d] != second[d] for d in beside):
        return None
    before, after = first[along], second[along]
    if before.stride != 1 or after.stride != 1 or before.limit != after.start:
        return None
    whole = (*first[:along], SliceDim(before.start, after.limit), *first[along + 1 :])
    return slice_(one.operands[0], whole)


@rule(
    concatenate(xs, dimensions=p),
    where=static,
    xla="HandleConcatenate: concatenate(broadcast(A), broadcast(A)) => broadcast(A)",
)
def concatenate_of_broadcasts(xs: Operands, p: Dims, root: Instruction) -> Instruction | None:
    """Copies beside copies, in a dimension that copies only, are more copies."""
    first = xs[0]
    if first.opcode != "broadcast":
        return None
    dims = Broadcast.of(first).dimensions
    if len(xs) == 1 or p[0] in dims:
        return None
    if any(
        (i.opcode, i.operands, i.attrs) != ("broadcast", first.operands, first.attrs) for i in xs
    ):
        return None
    return broadcast(first.operands[0], dims, shape=root.shape)


@rule(
    concatenate(xs, dimensions=p),
    where=static,
    xla="HandleConcatenate: concatenate(A, A, A) => broadcast(A), along a dimension of size 1",
)
def concatenate_of_the_same(xs: Operands, p: Dims, root: Instruction) -> Instruction | None:
    """Broadcast an operand of size 1 along the dimension."""
    one, (along,) = xs[0], p
    if len(xs) == 1 or set(xs) != {one} or one.shape.dims[along] != 1:
        return None
    dims = without(range(root.shape.rank), (along,))
    sizes = without(root.shape.dims, (along,))
    return broadcast(reshape(one, shape=one.shape.with_dims(sizes)), dims, shape=root.shape)


@rule(
    concatenate(xs, dimensions=p),
    where=static,
    xla="HandleConcatenate: concatenate(broadcast(A), B) => pad(B, A)",
)
def concatenate_with_broadcast(xs: Operands, p: Dims, root: Instruction) -> Instruction | None:
    """Copies of a scalar before or after one operand pad it."""
    if len(xs) != 2:
        return None
    for side, (copies, piece) in enumerate((xs, xs[::-1])):
        if copies.opcode == "broadcast" and not copies.operands[0].shape.dims:
            ends = (copies.shape.dims[p[0]], 0)
            padding = [PaddingDim(0, 0) for _ in root.shape.dims]
            padding[p[0]] = PaddingDim(*(ends[::-1] if side else ends))
            return pad(piece, copies.operands[0], tuple(padding))
    return None


# fmt: off
RULES = (
    Rule(concatenate(x), x, xla="concatenate of one => A"),
    concatenate_without_empty,
    concatenate_of_concatenate,
    concatenate_of_adjacent_slices,
    concatenate_of_the_same,
    concatenate_of_broadcasts,
    concatenate_with_broadcast,
)
# fmt: on
