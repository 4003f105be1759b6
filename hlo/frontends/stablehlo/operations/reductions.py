"""Operations that run a computation over elements: folds, windows, scatters, sorts."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from hlo.build import Builder
from hlo.errors.error import HloError
from hlo.frontends.stablehlo.numbers import integer_of
from hlo.frontends.stablehlo.table import given, integers, translates
from hlo.opcode import OPCODES
from hlo.types.shape import array
from hlo.types.values import WindowDim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from hlo.types.values import Window

    Operands = list[Instruction]


@translates("stablehlo.reduce")
def reduce(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Fold dimensions, from initial values on."""
    dimensions = integers(given(op, "dimensions"))
    operands = promoted(scope, operands, op.result_shapes)
    if outer := _values_from_around(scope, op):
        return _replaced(scope, op, operands, outer, dimensions)
    if op.regions:
        called = scope.computation("region", op.regions[0])
    else:
        opcode = str(given(op, "applies")).partition(".")[2].replace("_", "-")
        if opcode not in OPCODES:
            raise HloError("HLO013", f"HLO has no opcode `{opcode}`", op.span)
        called = folding(scope, opcode, operands[0].shape.element_type)
    return scope.several(op, "reduce", *operands, called=(called,), dimensions=dimensions)


def _values_from_around(scope: RegionScope, op: Operation) -> Operands:
    """The values from around that a reducer returns, if it returns nothing else."""
    if not op.regions or not op.regions[0].operations:
        return []
    returned = op.regions[0].operations[-1].operands
    values = [scope.values.get(name) for name in returned]
    arguments = {argument.name for argument in op.regions[0].arguments}
    results = {name for operation in op.regions[0].operations for name in operation.results}
    if any(name in arguments | results for name in returned):
        return []
    return [value for value in values if value is not None and value.opcode != "constant"]


def _replaced(
    scope: RegionScope, op: Operation, operands: Operands, outer: Operands,
    dimensions: Sequence[int],
) -> Operands:  # fmt: skip
    """The values from around a reducer, or the initial ones where there is no element."""
    sizes = [operands[0].shape.dims[d] for d in dimensions]
    chosen = operands[len(operands) // 2 :] if 0 in sizes else outer
    pairs = zip(chosen, op.result_shapes, strict=True)
    return [
        scope.add("broadcast", value, shape=shape, dimensions=()) if shape.rank else value
        for value, shape in pairs
    ]


def promoted(scope: RegionScope, operands: Operands, shapes: Sequence[Shape]) -> Operands:
    """The operands in the wider types in which a computation is to take them.

    Parameters
    ----------
    shapes : of the results: operand k, and its initial value, are of the type of result k.
    """
    kinds = [shape.element_type for shape in shapes]
    return [
        value
        if value.shape.element_type is kind or not (value.shape.is_array and kind.is_array)
        else scope.add("convert", value, shape=value.shape.with_type(kind))
        for value, kind in zip(operands, cycle(kinds))
    ]


def folding(scope: RegionScope, opcode: str, kind: ElementType) -> Computation:
    """A computation of two numbers by an opcode."""
    scalar = array(kind)
    name = scope.whole.computation_names.unique(f"region_{opcode}")
    builder = Builder(name, scope.whole.names)
    values = [builder.parameter(scalar), builder.parameter(scalar)]
    return builder.build(builder.add(opcode, *values))


def window_of(
    sizes: Sequence[int], strides: Any, padding: Any, base: Any, dilation: Any, reversal: Any = ()
) -> Window:
    """A window; a list that is not given is all 1, for paddings 0."""
    rank = range(len(sizes))

    def at(values: Any, d: int, usual: int) -> int:
        return integer_of(values[d]) if len(values) else usual

    return tuple(
        WindowDim(
            size=integer_of(sizes[d]),
            stride=at(strides, d, 1),
            pad_low=integer_of(padding[d][0]) if len(padding) else 0,
            pad_high=integer_of(padding[d][1]) if len(padding) else 0,
            base_dilation=at(base, d, 1),
            window_dilation=at(dilation, d, 1),
            reversal=bool(reversal[d]) if len(reversal) else False,
        )
        for d in rank
    )


@translates("stablehlo.reduce_window")
def reduce_window(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Fold each position of a window."""
    names = ("window_strides", "padding", "base_dilations", "window_dilations")
    window = window_of(
        integers(given(op, "window_dimensions")), *(given(op, n, default=()) for n in names)
    )
    called = scope.computation("region", op.regions[0])
    operands = promoted(scope, operands, op.result_shapes)
    return scope.several(op, "reduce-window", *operands, called=(called,), window=window)


@translates("stablehlo.select_and_scatter")
def select_and_scatter(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Scatter the source to the elements that windows select."""
    sizes = integers(given(op, "window_dimensions"))
    strides, padding = (given(op, n, default=()) for n in ("window_strides", "padding"))
    called = [
        scope.computation(n, b) for n, b in zip(("select", "scatter"), op.regions, strict=True)
    ]
    window = window_of(sizes, strides, padding, (), ())
    operands = promoted(scope, operands, op.result_shapes)
    return scope.add("select-and-scatter", *operands, called=called, window=window)


@translates("stablehlo.scatter")
def scatter(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Combine updates into operands at computed indices."""
    numbers = given(op, "scatter_dimension_numbers").fields
    called = scope.computation("region", op.regions[0])
    count = len(op.result_shapes)
    values, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    wide = [promoted(scope, operand, op.result_shapes) for operand in (values, updates)]
    operands = [*wide[0], indices, *wide[1]]
    return scope.several(
        op,
        "scatter",
        *operands,
        called=(called,),
        **{name: integers(numbers.get(name, ())) for name in _SCATTER},
        index_vector_dim=integer_of(numbers.get("index_vector_dim", 0)),
        indices_are_sorted=given(op, "indices_are_sorted", default=False) is True,
        unique_indices=given(op, "unique_indices", default=False) is True,
    )


_SCATTER = (
    *("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"),
    *("input_batching_dims", "scatter_indices_batching_dims"),
)


@translates("stablehlo.sort")
def sort(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Sort operands together by a comparator."""
    dimension = integer_of(given(op, "dimension", default=-1)) % operands[0].shape.rank
    called = scope.computation("compare", op.regions[0])
    is_stable = given(op, "is_stable", default=False) is True
    return scope.several(
        op, "sort", *operands, called=(called,), dimensions=(dimension,), is_stable=is_stable
    )


@translates("chlo.top_k", "mhlo.topk")
def top_k(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The k largest elements of the last dimension, and their indices."""
    k, largest = integer_of(given(op, "k")), given(op, "largest", default=True) is not False
    return scope.several(op, "topk", *operands, k=k, largest=largest)


@translates("chlo.scan", "stablehlo.scan")
def scan(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """A computation that goes along a dimension, and carries values from slice to slice."""
    called = scope.computation("region", op.regions[0])
    scanned_and_carried = given(op, "operandSegmentSizes", default=())
    carried = scanned_and_carried[1] if scanned_and_carried else given(op, "carried")
    return scope.several(
        op, "scan", *operands, called=(called,), num_carries=integer_of(carried),
        dimensions=(integer_of(given(op, "dimension")),),
        is_reverse=given(op, "is_reverse", default=False) is True,
    )  # fmt: skip
