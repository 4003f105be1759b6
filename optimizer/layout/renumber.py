"""Attributes and shapes of instructions whose dimensions are written in the order of memory.

`memory` lists logical dimensions, the slowest first: dimension i of an array as it lies in memory
is its logical dimension `memory[i]`. A table says for each opcode what becomes of its attributes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from hlo import attributes as a
from hlo.types.shape import row_major

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.types.values import ConvDims

    Memory = Sequence[int]


def in_memory(shape: Shape) -> Shape:
    """The row-major array with the same bytes: dimensions in the order of memory."""
    memory = shape.memory_order
    layout = shape.layout or row_major(shape.rank)
    return replace(
        shape,
        dims=tuple(shape.dims[d] for d in memory),
        layout=replace(layout, minor_to_major=row_major(shape.rank).minor_to_major),
        dynamic=tuple(shape.dynamic[d] for d in memory) if shape.dynamic else (),
    )


def renumbered(instr: Instruction) -> Attrs | None:
    """The attributes of an instruction on operands as they lie in memory; None if there are none.

    There are none where the opcode is not in the table, where operands of the result's rank lie in
    another order than the result, and where what a carrier drops or adds does not fit.
    """
    if not instr.shape.is_array:
        return None
    memory = instr.shape.memory_order
    if instr.opcode in _OTHERS:
        return _OTHERS[instr.opcode](instr)
    alike = [o.shape for o in instr.operands if o.shape.rank == len(memory)]
    if any(shape.memory_order != memory for shape in alike):
        return None
    if instr.opcode in _LISTS:
        return _listed(instr, _LISTS[instr.opcode])
    if instr.opcode in _NUMBERS:
        return _numbered(instr, _NUMBERS[instr.opcode])
    return instr.attrs if instr.row.elementwise or instr.opcode in _UNCHANGED else None


# Attributes with an entry for each dimension.
_LISTS = {
    "dynamic-slice": "dynamic_slice_sizes",
    "pad": "padding",
    "reduce-window": "window",
    "select-and-scatter": "window",
    "slice": "slice",
}
# Attributes that name dimensions.
_NUMBERS = {
    "concatenate": "dimensions",
    "iota": "iota_dimension",
    "map": "dimensions",
    "reverse": "dimensions",
    "set-dimension-size": "dimensions",
    "sort": "dimensions",
}
# Attributes that say nothing of dimensions. A test holds these tables against the trait
# `same_dimensions`.
_UNCHANGED = frozenset({"all-reduce", "copy", "dynamic-update-slice"})


def _listed(instr: Instruction, field: str) -> Attrs:
    values: Sequence[Any] = getattr(instr.attrs, field)
    # An empty window is that of a scalar.
    moved = tuple(values[d] for d in instr.shape.memory_order) if values else values
    return replace(instr.attrs, **cast("Any", {field: moved}))


def _numbered(instr: Instruction, field: str) -> Attrs:
    dims: int | tuple[int, ...] = getattr(instr.attrs, field)
    at = instr.shape.memory_order.index
    moved = at(dims) if isinstance(dims, int) else tuple(sorted(map(at, dims)))
    return replace(instr.attrs, **cast("Any", {field: moved}))


def _broadcast(instr: Instruction) -> Attrs | None:
    attrs = a.Broadcast.of(instr)
    memory = instr.shape.memory_order
    dims = [memory.index(attrs.dimensions[d]) for d in instr.operands[0].shape.memory_order]
    return replace(attrs, dimensions=tuple(dims)) if dims == sorted(dims) else None


def _bitcast_convert(instr: Instruction) -> Attrs | None:
    same = instr.shape.memory_order == instr.operands[0].shape.memory_order
    return instr.attrs if same else None


def _reduce(instr: Instruction) -> Attrs | None:
    if instr.shape.is_tuple:
        return None
    attrs = a.Dimensions.of(instr)
    operand = instr.operands[0].shape
    memory = operand.memory_order
    dims = [d for d in range(operand.rank) if d not in attrs.dimensions]
    left = [d for d in memory if d not in attrs.dimensions]
    if left != [dims[d] for d in instr.shape.memory_order]:
        return None
    return replace(attrs, dimensions=tuple(sorted(memory.index(d) for d in attrs.dimensions)))


def _dot(instr: Instruction) -> Attrs | None:
    attrs = a.DotDims.of(instr)
    if not instr.shape.is_row_major:
        return None
    left, right = (o.shape.memory_order for o in instr.operands)

    def positions(memory: Memory, dims: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(memory.index(d) for d in dims)

    changed = replace(
        attrs,
        lhs_batch_dims=positions(left, attrs.lhs_batch_dims),
        lhs_contracting_dims=positions(left, attrs.lhs_contracting_dims),
        rhs_batch_dims=positions(right, attrs.rhs_batch_dims),
        rhs_contracting_dims=positions(right, attrs.rhs_contracting_dims),
    )
    # The operands' remaining dimensions make the result's, in order.
    free = [d for d in left if d not in attrs.lhs_batch_dims + attrs.lhs_contracting_dims]
    others = [d for d in right if d not in attrs.rhs_batch_dims + attrs.rhs_contracting_dims]
    return changed if free == sorted(free) and others == sorted(others) else None


def _fields(labels: ConvDims, role: str) -> list[str]:
    """The fields that number dimensions of one array of a convolution."""
    return [f for f in labels.__slots__ if f.startswith(f"{role}_") or f == f"unknown_{role}"]


def _convolution(instr: Instruction) -> Attrs:
    attrs = a.Convolution.of(instr)
    moved: dict[str, Any] = {}
    shapes = (*(o.shape for o in instr.operands), instr.shape)
    for role, shape in zip(("input", "kernel", "output"), shapes, strict=True):
        at = shape.memory_order.index
        for field in _fields(attrs.dim_labels, role):
            dims: int | tuple[int, ...] = getattr(attrs.dim_labels, field)
            moved[field] = at(dims) if isinstance(dims, int) else tuple(map(at, dims))
    return replace(attrs, dim_labels=replace(attrs.dim_labels, **moved))


_OTHERS: dict[str, Callable[[Instruction], Attrs | None]] = {
    "bitcast-convert": _bitcast_convert,
    "broadcast": _broadcast,
    "convolution": _convolution,
    "dot": _dot,
    "reduce": _reduce,
}
