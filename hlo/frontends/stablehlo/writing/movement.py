"""Opcodes that make or move elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import (
    Broadcast,
    Constant,
    Dimensions,
    DynamicSlice,
    Gather,
    Iota,
    Pad,
    Slice,
)
from hlo.frontends.stablehlo.writing.elements import constant as constant_of
from hlo.frontends.stablehlo.writing.table import Tree, unsayable, writes
from hlo.frontends.stablehlo.writing.types import listed, numbers, truth
from hlo.types.shape import Shape, array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.writing.operation import MlirValue
    from hlo.frontends.stablehlo.writing.table import WritingScope
    from hlo.instruction import Instruction
    from hlo.types.literal import Literal


def one(scope: WritingScope, instr: Instruction, name: str, attributes: dict[str, str]) -> Tree:
    """An operation of all operands that gives one value."""
    operands = [scope.value(operand) for operand in instr.operands]
    return scope.op(f"stablehlo.{name}", operands, [instr.shape], attributes)[0]


@writes("constant")
def constant(scope: WritingScope, instr: Instruction) -> Tree:
    """A literal; those of a tuple one by one."""
    literal = Constant.of(instr).literal

    def made(part: Literal) -> Tree:
        if part.shape.is_tuple:
            return tuple(map(made, part.elements))
        if part.array is None:
            return scope.op("stablehlo.after_all", [], [part.shape])[0]
        return constant_of(scope, part.array, part.shape)

    if any(leaf.elided for leaf in _leaves(literal)):
        note = "dump the module with XLA_FLAGS=--xla_dump_large_constants, or as a protocol buffer"
        raise unsayable(instr, "number for `{...}`", note)
    return made(literal)


def _leaves(literal: Literal) -> list[Literal]:
    if not literal.shape.is_tuple:
        return [literal]
    return [leaf for element in literal.elements for leaf in _leaves(element)]


@writes("iota")
def iota(scope: WritingScope, instr: Instruction) -> Tree:
    """The index itself, along a dimension."""
    return one(scope, instr, "iota", {"iota_dimension": f"{Iota.of(instr).iota_dimension} : i64"})


@writes("broadcast")
def broadcast(scope: WritingScope, instr: Instruction) -> Tree:
    """The operand, repeated along new dimensions."""
    dimensions = numbers(Broadcast.of(instr).dimensions)
    return one(scope, instr, "broadcast_in_dim", {"broadcast_dimensions": dimensions})


@writes("reshape", "bitcast-convert", "convert", "replica-id", "partition-id")
def with_shape(scope: WritingScope, instr: Instruction) -> Tree:
    """An opcode that is told nothing but its result's shape."""
    return one(scope, instr, instr.opcode.replace("-", "_"), {})


@writes("bitcast")
def bitcast(scope: WritingScope, instr: Instruction) -> Tree:
    """The same bytes: dimensions in the order in which they lie, reshaped, and ordered again."""
    before, after = instr.operands[0].shape, instr.shape
    layouts = [shape.layout for shape in (before, after)]
    if any(layout is None or not layout.is_plain for layout in layouts):
        raise unsayable(instr, "bitcast of arrays in tiles, or of tuples")
    kinds = [shape.element_type for shape in (before, after)]
    if kinds[0] is not kinds[1] and "pred" in (kinds[0].kind, kinds[1].kind):
        raise unsayable(instr, "bitcast between truth values and numbers")
    orders = [layout.minor_to_major[::-1] for layout in layouts if layout]
    lying = array(kinds[0], tuple(before.dims[d] for d in orders[0]))
    value = _transposed(scope, scope.value(instr.operands[0]), lying, orders[0])
    wanted = array(kinds[1], tuple(after.dims[d] for d in orders[1]))
    if kinds[0] is not kinds[1]:
        value = _as_type(scope, value, lying, wanted)
    else:
        value = reshaped(scope, value, wanted)
    back = [orders[1].index(d) for d in range(after.rank)]
    return _transposed(scope, value, array(kinds[1], after.dims), back)


def _transposed(
    scope: WritingScope, value: MlirValue, shape: Shape, order: Sequence[int]
) -> MlirValue:
    if list(order) == sorted(order):
        return value
    return scope.op("stablehlo.transpose", [value], [shape], {"permutation": numbers(order)})[0]


def reshaped(scope: WritingScope, value: MlirValue, shape: Shape) -> MlirValue:
    """A value of the same elements in another shape."""
    return scope.op("stablehlo.reshape", [value], [shape])[0]


def _as_type(scope: WritingScope, value: MlirValue, before: Shape, after: Shape) -> MlirValue:
    """The bytes of an array in a row as another type, of the same width or of another one."""
    kinds = before.element_type, after.element_type
    count = max(kinds[0].bits // kinds[1].bits, kinds[1].bits // kinds[0].bits)
    if kinds[0].bits < kinds[1].bits:
        value = reshaped(scope, value, array(kinds[0], (after.size, count)))
        value = scope.op("stablehlo.bitcast_convert", [value], [array(kinds[1], (after.size,))])[0]
    else:
        value = reshaped(scope, value, array(kinds[0], (before.size,)))
        dims = (before.size, count) if count > 1 else (before.size,)
        value = scope.op("stablehlo.bitcast_convert", [value], [array(kinds[1], dims)])[0]
    return reshaped(scope, value, after)


@writes("transpose")
def transpose(scope: WritingScope, instr: Instruction) -> Tree:
    """Result dimension i is operand dimension `permutation[i]`."""
    return one(scope, instr, "transpose", {"permutation": numbers(Dimensions.of(instr).dimensions)})


@writes("reverse")
def reverse(scope: WritingScope, instr: Instruction) -> Tree:
    """Some dimensions flipped."""
    return one(scope, instr, "reverse", {"dimensions": numbers(Dimensions.of(instr).dimensions)})


@writes("concatenate", "get-dimension-size", "set-dimension-size")
def along(scope: WritingScope, instr: Instruction) -> Tree:
    """Operands joined along a dimension; the size of a dimension, and another one for it."""
    (dimension,) = Dimensions.of(instr).dimensions
    return one(scope, instr, instr.opcode.replace("-", "_"), {"dimension": f"{dimension} : i64"})


@writes("slice")
def cut(scope: WritingScope, instr: Instruction) -> Tree:
    """Every stride-th element from start to limit."""
    dims = Slice.of(instr).slice
    attributes = {
        "start_indices": numbers(d.start for d in dims),
        "limit_indices": numbers(d.limit for d in dims),
        "strides": numbers(d.stride for d in dims),
    }
    return one(scope, instr, "slice", attributes)


@writes("pad")
def pad(scope: WritingScope, instr: Instruction) -> Tree:
    """A value around and between the elements."""
    dims = Pad.of(instr).padding
    attributes = {
        "edge_padding_low": numbers(d.low for d in dims),
        "edge_padding_high": numbers(d.high for d in dims),
        "interior_padding": numbers(d.interior for d in dims),
    }
    return one(scope, instr, "pad", attributes)


@writes("dynamic-slice", "dynamic-update-slice")
def dynamic_slice(scope: WritingScope, instr: Instruction) -> Tree:
    """A slice whose start comes at run time, or the operand with such a slice replaced."""
    array_count = 1 if instr.opcode == "dynamic-slice" else 2
    arrays = [scope.value(operand) for operand in instr.operands[:array_count]]
    starts = [
        start
        for operand in instr.operands[array_count:]
        for start in _scalars(scope, operand, instr.operands[0].shape.rank)
    ]
    sizes = (
        {"slice_sizes": numbers(DynamicSlice.of(instr).dynamic_slice_sizes)}
        if array_count == 1
        else {}
    )
    name = f"stablehlo.{instr.opcode.replace('-', '_')}"
    return scope.op(name, [*arrays, *starts], [instr.shape], sizes)[0]


def _scalars(scope: WritingScope, operand: Instruction, rank: int) -> list[MlirValue]:
    """The starts: a scalar, or all of them in one array, as HLO once had them."""
    value, kind = scope.value(operand), operand.shape.element_type
    if not operand.shape.rank:
        return [value]
    starts: list[MlirValue] = []
    for d in range(rank):
        at = {
            "start_indices": numbers([d]),
            "limit_indices": numbers([d + 1]),
            "strides": numbers([1]),
        }
        (piece,) = scope.op("stablehlo.slice", [value], [array(kind, (1,))], at)
        starts.append(reshaped(scope, piece, array(kind)))
    return starts


@writes("gather")
def gather(scope: WritingScope, instr: Instruction) -> Tree:
    """Slices of the operand at computed indices."""
    attrs = Gather.of(instr)
    names = (
        *("offset_dims", "collapsed_slice_dims", "operand_batching_dims"),
        *("start_indices_batching_dims", "start_index_map"),
    )
    lists = [f"{name} = {listed(getattr(attrs, name))}" for name in names if getattr(attrs, name)]
    words = ", ".join([*lists, f"index_vector_dim = {attrs.index_vector_dim}"])
    attributes = {
        "dimension_numbers": f"#stablehlo.gather<{words}>",
        "slice_sizes": numbers(attrs.slice_sizes),
        "indices_are_sorted": truth(attrs.indices_are_sorted),
    }
    return one(scope, instr, "gather", attributes)


@writes("dynamic-reshape")
def dynamic_reshape(scope: WritingScope, instr: Instruction) -> Tree:
    """A reshape whose sizes come at run time: in StableHLO they are one array."""
    operand, *sizes = (scope.value(operand) for operand in instr.operands)
    kind = instr.operands[1].shape.element_type
    pieces = [reshaped(scope, size, array(kind, (1,))) for size in sizes]
    whole = scope.op(
        "stablehlo.concatenate", pieces, [array(kind, (len(pieces),))], {"dimension": "0 : i64"}
    )
    return scope.op("stablehlo.dynamic_reshape", [operand, *whole], [instr.shape])[0]
