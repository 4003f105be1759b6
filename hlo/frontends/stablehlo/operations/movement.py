"""Operations that make, move and select elements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.numbers import integer_of
from hlo.frontends.stablehlo.resources import Resource, literal_of
from hlo.frontends.stablehlo.table import constants, given, integers, told, translates
from hlo.types.literal import literal
from hlo.types.shape import array
from hlo.types.values import PaddingDim, SliceDim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]

# Elements up to which a constant of one number is written out.
MOST_WRITTEN_OUT = 1024


@translates(
    "stablehlo.constant", "sdy.constant", "chlo.constant", "arith.constant", "shape.const_shape"
)
def constant(scope: RegionScope, op: Operation, _operands: Operands) -> Instruction:
    """A literal."""
    shape = op.result_shapes[0]
    words: tuple[Any, ...] = given(op, "words", default=())
    value: Any = words[0] if words else given(op, "value")
    if isinstance(value, Resource):
        return scope.literal(literal_of(value, scope.whole.program.resources))
    if isinstance(value, int | float | tuple):
        value = np.asarray(value, shape.element_type.dtype)
    number = one_number(value)
    if number is not None and shape.size > MOST_WRITTEN_OUT:
        scalar = array(shape.element_type)
        scalar_constant = scope.add("constant", shape=scalar, literal=literal(number, scalar))
        return scope.add("broadcast", scalar_constant, shape=shape, dimensions=())
    return scope.add("constant", shape=shape, literal=literal(np.asarray(value), shape))


def one_number(value: NDArray[Any]) -> NDArray[Any] | None:
    """The number that all elements of an array are by its form; None if they may differ."""
    return value[(0,) * value.ndim] if value.size and not any(value.strides) else None


@translates("stablehlo.iota", "stablehlo.dynamic_iota")
def iota(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The index itself, along a dimension; the size is in the type, or a constant."""
    dimension = integer_of(given(op, "dim", "iota_dimension"))
    shape = told(op, constants(operands[0]) if operands else ())
    return scope.add("iota", shape=shape, iota_dimension=dimension)


@translates("stablehlo.broadcast_in_dim")
def broadcast_in_dim(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """HLO repeats along new dimensions only; those of size 1 are dropped before."""
    return broadcast(scope, op, operands[0], integers(given(op, "dims", "broadcast_dimensions")))


def broadcast(
    scope: RegionScope, op: Operation, operand: Instruction, dimensions: Sequence[int]
) -> Instruction:
    """An operand whose dimension i is dimension `dimensions[i]` of the result, or of size 1."""
    shape = op.result_shapes[0]
    sizes = [shape.dims[d] for d in dimensions]
    pairs = zip(operand.shape.dims, sizes, dimensions, strict=True)
    operand_dims = [d for n, size, d in pairs if n == size]
    if len(operand_dims) < len(sizes):
        dims = tuple(shape.dims[d] for d in operand_dims)
        operand = scope.add("reshape", operand, shape=array(shape.element_type, dims))
    return scope.add("broadcast", operand, shape=shape, dimensions=tuple(operand_dims))


@translates("stablehlo.broadcast")
def broadcast_in_front(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Repeat along new dimensions in front of the others."""
    shape, rank = op.result_shapes[0], operands[0].shape.rank
    return scope.add("broadcast", *operands, shape=shape,
                     dimensions=tuple(range(shape.rank - rank, shape.rank)))  # fmt: skip


@translates("stablehlo.reshape", "stablehlo.bitcast_convert")
def with_shape(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """An opcode that is told nothing but its result's shape."""
    opcode = op.name.partition(".")[2].replace("_", "-")
    return scope.add(opcode, *operands, shape=told(op, operands[0].shape.dims))


@translates("stablehlo.transpose")
def transpose(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Result dimension i is operand dimension `permutation[i]`."""
    order = integers(given(op, "dims", "permutation"))
    return scope.add("transpose", *operands, shape=op.result_shapes[0], dimensions=order)


@translates("stablehlo.reverse")
def reverse(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Some dimensions flipped."""
    return scope.add("reverse", *operands, dimensions=integers(given(op, "dims", "dimensions")))


@translates("stablehlo.concatenate")
def concatenate(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The operands joined."""
    dimension = integer_of(given(op, "dim", "dimension"))
    return scope.add("concatenate", *operands, dimensions=(dimension,))


@translates("stablehlo.slice")
def cut(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Every stride-th element from start to limit."""
    names = ("start_indices", "limit_indices", "strides")
    return _cut(scope, operands[0], *(integers(given(op, name)) for name in names))


def _cut(
    scope: RegionScope, operand: Instruction, starts: Sequence[int], limits: Sequence[int],
    strides: Sequence[int],
) -> Instruction:  # fmt: skip
    ranges = tuple(SliceDim(*dim) for dim in zip(starts, limits, strides, strict=True))
    return scope.add("slice", operand, slice=ranges)


@translates("stablehlo.pad")
def pad(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A value around and between the elements."""
    low = integers(given(op, "low", "edge_padding_low"))
    high = integers(given(op, "high", "edge_padding_high"))
    return _pad(scope, operands, low, high, integers(given(op, "interior", "interior_padding")))


def _pad(
    scope: RegionScope, operands: Operands, low: Sequence[int], high: Sequence[int],
    interior: Sequence[int],
) -> Instruction:  # fmt: skip
    padding = tuple(PaddingDim(*dim) for dim in zip(low, high, interior, strict=True))
    return scope.add("pad", *operands, padding=padding)


@translates("stablehlo.dynamic_slice")
def dynamic_slice(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A slice whose start comes at run time."""
    sizes = integers(given(op, "sizes", "slice_sizes"))
    return scope.add("dynamic-slice", *operands, dynamic_slice_sizes=sizes)


@translates("stablehlo.dynamic_update_slice")
def dynamic_update_slice(scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """The operand with a slice replaced."""
    return scope.add("dynamic-update-slice", *operands)


@translates("stablehlo.gather")
def gather(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Slices of the operand at computed indices."""
    return _gather(scope, op, operands, integers(given(op, "slice_sizes")))


def _gather(
    scope: RegionScope, op: Operation, operands: Operands, sizes: Sequence[int]
) -> Instruction:
    numbers = given(op, "dimension_numbers").fields
    return scope.add(
        "gather",
        *operands,
        **{name: integers(numbers.get(name, ())) for name in _GATHER},
        index_vector_dim=integer_of(numbers.get("index_vector_dim", 0)),
        slice_sizes=tuple(sizes),
        indices_are_sorted=given(op, "indices_are_sorted", default=False) is True,
    )


@translates("stablehlo.torch_index_select")
def torch_index_select(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The slices of the operand along a dimension at some indices, batch by batch."""
    operand, index = (operand.shape for operand in operands)
    batch = integer_of(given(op, "batch_dims", default=0))
    along = integer_of(given(op, "dim")) % operand.rank
    batches = tuple(range(batch))
    behind = along + index.rank - batch
    return scope.add(
        "gather", *operands, shape=op.result_shapes[0],
        offset_dims=(*range(batch, along), *range(behind, behind + operand.rank - along - 1)),
        collapsed_slice_dims=(along,), start_index_map=(along,),
        operand_batching_dims=batches, start_indices_batching_dims=batches,
        index_vector_dim=index.rank,
        slice_sizes=tuple(1 if d < batch or d == along else n for d, n in enumerate(operand.dims)),
    )  # fmt: skip


_GATHER = (
    *("offset_dims", "collapsed_slice_dims", "start_index_map"),
    *("operand_batching_dims", "start_indices_batching_dims"),
)


# ------------------------------------- sizes that come as values, where these are constants


def constant_integers(op: Operation, operand: Instruction) -> tuple[int, ...]:
    """The numbers of an operand that has to be a constant.

    Raises
    ------
    HloError
        HLO013 if it is none.
    """
    number: Any = getattr(operand.attrs, "literal", None)
    if number is None or number.array is None:
        notes = ["HLO has no arrays whose sizes are known at run time only, but for bounded ones"]
        message = f"the sizes of {op.name} are no constants"
        raise HloError("HLO013", message, op.span, notes)
    return tuple(integer_of(n) for n in number.array.ravel())


@translates("stablehlo.dynamic_reshape")
def dynamic_reshape(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A reshape, whose sizes are in its type, or constants."""
    return scope.add("reshape", operands[0], shape=told(op, constants(operands[1])))


@translates("stablehlo.dynamic_broadcast_in_dim")
def dynamic_broadcast_in_dim(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A broadcast, whose sizes are in its type, or constants."""
    op = replace(op, result_shapes=(told(op, constants(operands[1])),))
    dimensions = integers(given(op, "dims", "broadcast_dimensions"))
    return broadcast(scope, op, operands[0], dimensions)


@translates("stablehlo.dynamic_pad")
def dynamic_pad(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A pad, whose sizes are constants."""
    return _pad(scope, operands[:2], *(constant_integers(op, sizes) for sizes in operands[2:]))


@translates("stablehlo.real_dynamic_slice")
def real_dynamic_slice(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A slice whose bounds are constants, or whose limits are the starts and constants."""
    operand, starts, limits, strides = operands
    if limits.opcode == "add" and starts in limits.operands:
        sizes = limits.operands[limits.operands[0] is starts]
        if set(constant_integers(op, strides)) <= {1}:
            taken = constant_integers(op, sizes)
            parts = [_cut(scope, starts, (d,), (d + 1,), (1,)) for d in range(len(taken))]
            scalar = array(starts.shape.element_type)
            indices = [scope.add("reshape", part, shape=scalar) for part in parts]
            return scope.add("dynamic-slice", operand, *indices, dynamic_slice_sizes=taken)
    return _cut(scope, operands[0], *(constant_integers(op, bounds) for bounds in operands[1:]))


@translates("stablehlo.dynamic_gather")
def dynamic_gather(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A gather, whose slices' sizes are constants."""
    return _gather(scope, op, operands[:2], constant_integers(op, operands[2]))


@translates("stablehlo.get_dimension_size")
def get_dimension_size(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The size of a dimension."""
    dimension = integer_of(given(op, "dim", "dimension"))
    return scope.add("get-dimension-size", *operands, dimensions=(dimension,))


@translates("stablehlo.set_dimension_size")
def set_dimension_size(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The operand with a size that comes at run time."""
    dimension = integer_of(given(op, "dim", "dimension"))
    return scope.add("set-dimension-size", *operands, dimensions=(dimension,))
