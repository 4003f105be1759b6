"""The instructions that each device runs on parts of the operands, opcode by opcode.

    sum = f32[8] add(x, y)      =>  part = f32[4] add(part of x, part of y)
    dot = f32[8,8] dot(a, b)    =>  some = f32[8,8] dot(columns of a, rows of b)
                                    dot = f32[8,8] all-reduce(some), to_apply=add

A rule says from the operands' parts which parts the result has. Where operands are cut in other
ways, they are cut anew; where no rule holds, the instruction runs on whole arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.sharded import shards_of, uncut
from optimizer.partitioning.parts import across, along, dim_parts, parts_of_dims
from optimizer.reducers import leaves_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hlo.attributes import Attrs
    from hlo.instruction import Computation, Instruction
    from hlo.sharded import Shards
    from hlo.types.shape import Shape
    from optimizer.partitioning.communication import Groups
    from optimizer.partitioning.parts import DimParts


@dataclass(frozen=True)
class Held:
    """An array of which each device holds a part.

    Attributes
    ----------
    part : the instruction that computes the part of the device that runs it.
    parts : all parts, and the devices that hold them.
    """

    part: Instruction
    parts: Shards


@dataclass(frozen=True)
class Division(ABC):
    """An instruction that is to be divided.

    Attributes
    ----------
    held : the part of each operand; None for an operand that each device holds whole.
    """

    instr: Instruction
    held: tuple[Held | None, ...]

    @property
    @abstractmethod
    def devices(self) -> int:
        """The number of devices among which arrays are divided."""

    @abstractmethod
    def piece(self, number: int, parts: Shards) -> Instruction:
        """The part of an operand, by its number, under a given cut."""

    @abstractmethod
    def local(
        self, shape: Shape, *operands: Instruction, attrs: Attrs | None = None
    ) -> Instruction:
        """The instruction on parts of its operands."""

    @abstractmethod
    def folded(self, part: Instruction, groups: Groups, by: Computation | None) -> Instruction:
        """The values of each group's devices folded by a computation; None adds."""

    def parts(self, number: int) -> Shards:
        """The parts of an operand."""
        held = self.held[number]
        return held.parts if held else uncut(self.instr.operands[number].shape.rank)

    def result(
        self, parts: Shards | None, *operands: Instruction, attrs: Attrs | None = None
    ) -> Held | None:
        """A part of the result; None if the result is not cut, or not evenly."""
        if parts is None or parts.is_whole or not parts.cut_evenly(self.instr.shape):
            return None
        return Held(self.local(parts.local(self.instr.shape), *operands, attrs=attrs), parts)


def divided(division: Division) -> Held | None:
    """The part of an instruction's value that a device computes; None if it computes all of it."""
    instr = division.instr
    if not instr.shape.is_array or instr.shape.is_dynamic or not instr.shape.size:
        return None
    if instr.opcode == "custom-call":
        return _constrained(division)
    if not any(division.held):
        return None
    rule = _RULES.get(instr.opcode)
    if rule:
        return rule(division)
    kept = _all_dims if instr.row.elementwise else _KEPT.get(instr.opcode)
    return _alike(division, kept(instr)) if kept else None


# ------------------------------------------------------- results that are cut as operands are


def _alike(division: Division, kept: Iterator[int]) -> Held | None:
    """An instruction of which dimension i of each operand is dimension i of the result.

    Parameters
    ----------
    kept : dimensions along which an element depends on the operands at the same index alone.
    """
    instr = division.instr
    rank, dims = instr.shape.rank, set(kept)
    given = [h.parts for h in division.held if h and len(h.parts.counts) == rank]
    if not given or any(o.shape.rank not in (0, rank) for o in instr.operands):
        return None
    most = max(given, key=lambda parts: prod(parts.counts))
    parts = along(most, [d if d in dims else None for d in range(rank)])
    operands = [
        division.piece(number, parts) if o.shape.rank == rank else o
        for number, o in enumerate(instr.operands)
    ]
    return division.result(parts, *operands, attrs=_local_attrs(instr, parts))


def _local_attrs(instr: Instruction, parts: Shards) -> Attrs:
    """The attributes for a part; it is cut along dimensions of which the result has all."""
    attrs, shape = instr.attrs, parts.local(instr.shape)
    if isinstance(attrs, a.Slice):
        pairs = zip(attrs.slice, shape.dims, parts.counts, strict=True)
        return replace(attrs, slice=tuple(
            replace(s, limit=size) if count > 1 else s for s, size, count in pairs
        ))  # fmt: skip
    if isinstance(attrs, a.DynamicSlice):
        return replace(attrs, dynamic_slice_sizes=shape.dims)
    return attrs


def _all_dims(instr: Instruction) -> Iterator[int]:
    yield from range(instr.shape.rank)


def _not_listed(instr: Instruction) -> Iterator[int]:
    attrs = instr.attrs
    assert isinstance(attrs, a.Dimensions | a.Sort)
    yield from set(range(instr.shape.rank)).difference(attrs.dimensions)


def _as_long(instr: Instruction) -> Iterator[int]:
    """Dimensions of which nothing is left out."""
    sizes = zip(instr.operands[0].shape.dims, instr.shape.dims, strict=True)
    yield from (d for d, (before, after) in enumerate(sizes) if before == after)


def _not_padded(instr: Instruction) -> Iterator[int]:
    padding = a.Pad.of(instr).padding
    yield from (d for d, p in enumerate(padding) if p.low == p.high == p.interior == 0)


def _updated_whole(instr: Instruction) -> Iterator[int]:
    sizes = zip(instr.shape.dims, instr.operands[1].shape.dims, strict=True)
    yield from (d for d, (all_of, new) in enumerate(sizes) if all_of == new)


def _without_window(instr: Instruction) -> Iterator[int]:
    if len(instr.operands) == 2:
        window = a.Windowed.of(instr).window
        plain = (w.size == w.stride == w.base_dilation == 1 for w in window)
        unpadded = (w.pad_low == w.pad_high == 0 for w in window)
        yield from (d for d, both in enumerate(zip(plain, unpadded, strict=True)) if all(both))


_KEPT: dict[str, Callable[[Instruction], Iterator[int]]] = {
    "concatenate": _not_listed,
    "dynamic-slice": _as_long,
    "dynamic-update-slice": _updated_whole,
    "pad": _not_padded,
    "reduce-window": _without_window,
    "reverse": _not_listed,
    "slice": _as_long,
    "sort": _not_listed,
}


# ------------------------------------------------------------------------ dimensions move


def _broadcast(division: Division) -> Held | None:
    """A broadcast of a part, along dimensions that the operand does not have."""
    instr, parts = division.instr, division.parts(0)
    place = {out: d for d, out in enumerate(a.Broadcast.of(instr).dimensions)}
    dims = [place.get(d) for d in range(instr.shape.rank)]
    return division.result(along(parts, dims), division.piece(0, parts))


def _transpose(division: Division) -> Held | None:
    """A transpose of a part."""
    parts = division.parts(0)
    dims = a.Dimensions.of(division.instr).dimensions
    return division.result(along(parts, dims), division.piece(0, parts))


def _reshape(division: Division) -> Held | None:
    """A reshape: a cut dimension of the operand passes its cut to a dimension of the result.

    Both have the same product of the dimensions outside of them; then their blocks have the same
    elements, for elements keep their row-major order.
    """
    instr, parts = division.instr, division.parts(0)
    before, after = instr.operands[0].shape.dims, instr.shape.dims
    dims: list[DimParts] = [None] * len(after)
    for d, count in enumerate(parts.counts):
        if count > 1:
            outside = prod(before[:d])
            found = (e for e, size in enumerate(after) if size > 1 and prod(after[:e]) == outside)
            there = next(found, None)
            if there is None:
                return None
            dims[there] = dim_parts(parts, d)
    return division.result(parts_of_dims(dims), division.piece(0, parts))


def _gather(division: Division) -> Held | None:
    """A gather from a whole array, by the indices that a device has."""
    instr, attrs = division.instr, a.Gather.of(division.instr)
    parts, whole = division.parts(1), uncut(instr.operands[0].shape.rank)
    if attrs.operand_batching_dims:
        return None
    batch = iter(d for d in range(len(parts.counts)) if d != attrs.index_vector_dim)
    dims = [None if d in attrs.offset_dims else next(batch) for d in range(instr.shape.rank)]
    found = along(parts, dims)
    indices = parts if len(parts.counts) == attrs.index_vector_dim else along(
        parts, [None if d == attrs.index_vector_dim else d for d in range(len(parts.counts))]
    )  # fmt: skip
    return division.result(found, division.piece(0, whole), division.piece(1, indices))


# ------------------------------------------------------------------------ elements are folded


def _reduce(division: Division) -> Held | None:
    """A fold of a part; if a folded dimension is cut, an all-reduce folds the results."""
    instr = division.instr
    if len(instr.operands) != 2:
        return None
    parts, (_, initial) = division.parts(0), instr.operands
    reduced = a.Dimensions.of(instr).dimensions
    kept = along(parts, [d for d in range(len(parts.counts)) if d not in reduced])
    cut = [d for d in reduced if parts.counts[d] > 1]
    computation = instr.called[0]
    if cut and not leaves_alone(initial, computation, zero_sign=True):
        return None
    part = division.local(kept.local(instr.shape), division.piece(0, parts), initial)
    if cut:
        part = division.folded(part, across(parts, cut), computation)
    return Held(part, kept)


# A dimension of a contraction's left side, right side and result; None where one does not have it.
_Role = tuple[int | None, int | None, int | None]


def _dot(division: Division) -> Held | None:
    attrs, (lhs, rhs) = a.DotDims.of(division.instr), division.instr.operands
    batch = list(zip(attrs.lhs_batch_dims, attrs.rhs_batch_dims, strict=True))
    contracting = list(zip(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims, strict=True))
    used = {*batch, *contracting}
    left = [d for d in range(lhs.shape.rank) if d not in {one for one, _ in used}]
    right = [d for d in range(rhs.shape.rank) if d not in {other for _, other in used}]
    pairs = [*batch, *((d, None) for d in left), *((None, d) for d in right)]
    roles: list[_Role] = [(one, other, out) for out, (one, other) in enumerate(pairs)]
    return _contraction(division, [*roles, *((*pair, None) for pair in contracting)])


def _convolution(division: Division) -> Held | None:
    attrs = a.Convolution.of(division.instr)
    if attrs.feature_group_count != 1 or attrs.batch_group_count != 1:
        return None
    labels = attrs.dim_labels
    return _contraction(division, [
        (labels.input_batch, None, labels.output_batch),
        (None, labels.kernel_output_feature, labels.output_feature),
        (labels.input_feature, labels.kernel_input_feature, None),
    ])  # fmt: skip


def _contraction(division: Division, roles: Sequence[_Role]) -> Held | None:
    """Sums of products of parts; if a summed dimension is cut, an all-reduce adds them up."""
    instr = division.instr
    both = division.parts(0), division.parts(1)
    # Of sides that the same devices cut, the larger one stays as it is.
    whole = [uncut(len(side.counts)) for side in both]
    alone = (both[0], whole[1]), (whole[0], both[1])
    left_is_larger = instr.operands[0].shape.bytes >= instr.operands[1].shape.bytes
    for lhs, rhs in (both, alone[not left_is_larger], alone[left_is_larger]):
        cuts = [_cut(lhs, left) or _cut(rhs, right) for left, right, _ in roles]
        every = parts_of_dims(cuts)
        if every is not None and not every.is_whole:
            break
    else:
        return None
    summed = [n for n, cut in enumerate(cuts) if cut and roles[n][2] is None]
    if summed and instr.shape.element_type.kind == "pred":
        return None
    left, right, out = (
        _placed(cuts, [role[side] for role in roles], rank)
        for side, rank in enumerate((*(o.shape.rank for o in instr.operands), instr.shape.rank))
    )
    shapes = zip(instr.operands, (left, right), strict=True)
    if not out.cut_evenly(instr.shape) or not all(p.cut_evenly(o.shape) for o, p in shapes):
        return None
    shape = out.local(instr.shape)
    part = division.local(shape, division.piece(0, left), division.piece(1, right))
    if summed:
        part = division.folded(part, across(every, summed), None)
    return Held(part, out)


def _cut(parts: Shards, dim: int | None) -> DimParts:
    return None if dim is None else dim_parts(parts, dim)


def _placed(cuts: Sequence[DimParts], dims: Sequence[int | None], rank: int) -> Shards:
    """The parts of an array whose dimensions are cut so, of cuts that make parts together."""
    found: list[DimParts] = [None] * rank
    for cut, dim in zip(cuts, dims, strict=True):
        if dim is not None:
            found[dim] = cut
    parts = parts_of_dims(found)
    assert parts, "some of the cuts make parts as well"
    return parts


_RULES: dict[str, Callable[[Division], Held | None]] = {
    "broadcast": _broadcast,
    "convolution": _convolution,
    "dot": _dot,
    "gather": _gather,
    "reduce": _reduce,
    "reshape": _reshape,
    "transpose": _transpose,
}


# --------------------------------------------------------------------------- constraints


def _constrained(division: Division) -> Held | None:
    """A value that is to be cut as the program says (`jax.lax.with_sharding_constraint`)."""
    instr = division.instr
    sharding = instr.annotations.sharding
    if a.CustomCall.of(instr).custom_call_target != "Sharding" or not sharding:
        return None
    parts = shards_of(sharding, instr.shape.rank)
    if parts is None or len(parts.places) != division.devices:
        return None
    return Held(division.piece(0, parts), parts) if parts.cut_evenly(instr.shape) else None
