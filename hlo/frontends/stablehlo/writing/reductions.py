"""Opcodes that run a computation over elements: folds, windows, scatters, sorts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Dimensions, Scan, Scatter, Sort, TopK, Windowed
from hlo.frontends.stablehlo.writing.operation import MlirBlock, MlirRegion
from hlo.frontends.stablehlo.writing.table import Tree, unsayable, writes
from hlo.frontends.stablehlo.writing.types import (
    enumeration,
    listed,
    matrix,
    numbers,
    truth,
    type_text,
)
from hlo.types.element_type import PRED
from hlo.types.shape import array

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.writing.operation import MlirValue
    from hlo.frontends.stablehlo.writing.table import WritingScope
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.values import Window


def several(scope: WritingScope, instr: Instruction, name: str, attributes: dict[str, str]) -> Tree:
    """An operation of any number of values, with the computations that it calls."""
    operands = [scope.value(operand) for operand in instr.operands]
    shapes = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    regions = [scope.region(called) for called in instr.called]
    values = scope.op(name, operands, shapes, attributes, regions)
    return tuple(values) if instr.shape.is_tuple else values[0]


@writes("reduce")
def reduce(scope: WritingScope, instr: Instruction) -> Tree:
    """Fold dimensions, from initial values on."""
    dimensions = {"dimensions": numbers(Dimensions.of(instr).dimensions)}
    return several(scope, instr, "stablehlo.reduce", dimensions)


def _window(window: Window) -> dict[str, str]:
    """A window without dilations."""
    return {
        "window_dimensions": numbers(d.size for d in window),
        "window_strides": numbers(d.stride for d in window),
        "padding": matrix([(d.pad_low, d.pad_high) for d in window], 2),
    }


@writes("reduce-window")
def reduce_window(scope: WritingScope, instr: Instruction) -> Tree:
    """Fold each position of a window; in HLO a window of scalars need not be written."""
    window = Windowed.of(instr).window
    if any(d.reversal for d in window):
        raise unsayable(instr, "reversed window")
    attributes = {
        **_window(window),
        "base_dilations": numbers(d.base_dilation for d in window),
        "window_dilations": numbers(d.window_dilation for d in window),
    }
    return several(scope, instr, "stablehlo.reduce_window", attributes)


@writes("select-and-scatter")
def select_and_scatter(scope: WritingScope, instr: Instruction) -> Tree:
    """Scatter the source to the elements that windows select."""
    window = Windowed.of(instr).window
    if any(d.base_dilation != 1 or d.window_dilation != 1 or d.reversal for d in window):
        raise unsayable(instr, "select_and_scatter with dilated or reversed windows")
    return several(scope, instr, "stablehlo.select_and_scatter", _window(window))


@writes("scatter")
def scatter(scope: WritingScope, instr: Instruction) -> Tree:
    """Combine updates with operands at computed indices."""
    attrs = Scatter.of(instr)
    names = (
        *("update_window_dims", "inserted_window_dims", "input_batching_dims"),
        *("scatter_indices_batching_dims", "scatter_dims_to_operand_dims"),
    )
    lists = [f"{name} = {listed(getattr(attrs, name))}" for name in names if getattr(attrs, name)]
    words = ", ".join([*lists, f"index_vector_dim = {attrs.index_vector_dim}"])
    attributes = {
        "scatter_dimension_numbers": f"#stablehlo.scatter<{words}>",
        "indices_are_sorted": truth(attrs.indices_are_sorted),
        "unique_indices": truth(attrs.unique_indices),
    }
    return several(scope, instr, "stablehlo.scatter", attributes)


@writes("sort")
def sort(scope: WritingScope, instr: Instruction) -> Tree:
    """Sort operands together by a comparator."""
    attrs = Sort.of(instr)
    attributes = {
        "dimension": f"{attrs.dimensions[0]} : i64",
        "is_stable": truth(attrs.is_stable),
    }
    return several(scope, instr, "stablehlo.sort", attributes)


@writes("topk")
def top_k(scope: WritingScope, instr: Instruction) -> Tree:
    """The k largest elements; the smallest are the first ones of a stable sort."""
    attrs = TopK.of(instr)
    if attrs.largest:
        return several(scope, instr, "chlo.top_k", {"k": f"{attrs.k} : i64"})
    shapes = [shape.with_dims(instr.operands[0].shape.dims) for shape in instr.shape.elements]
    last = {"iota_dimension": f"{shapes[1].rank - 1} : i64"}
    places = scope.op("stablehlo.iota", [], [shapes[1]], last)
    operand = scope.value(instr.operands[0])
    order = {"dimension": f"{shapes[0].rank - 1} : i64", "is_stable": "true"}
    ordered = scope.op("stablehlo.sort", [operand, *places], shapes, order, [_rising(scope, instr)])
    pairs = zip(ordered, instr.shape.elements, strict=True)
    return tuple(_first(scope, value, shape.dims, shape.element_type) for value, shape in pairs)


def _rising(scope: WritingScope, instr: Instruction) -> MlirRegion:
    """The comparator of pairs of numbers and places, by the numbers; floats in total order."""
    kinds = [shape.element_type for shape in instr.shape.elements]
    scalars = [array(kind) for kind in (kinds[0], kinds[0], kinds[1], kinds[1])]
    block = MlirBlock(tuple(scope.fresh("arg", type_text(scalar)) for scalar in scalars))
    word = {"float": "TOTALORDER", "signed": "SIGNED"}.get(kinds[0].kind, "UNSIGNED")
    attributes = {
        "comparison_direction": enumeration("comparison_direction", "LT"),
        "compare_type": enumeration("comparison_type", word),
    }
    with scope.inside(block):
        block.results = tuple(
            scope.op("stablehlo.compare", block.arguments[:2], [array(PRED)], attributes)
        )
    return MlirRegion(block)


def _first(
    scope: WritingScope, value: MlirValue, dims: tuple[int, ...], kind: ElementType
) -> MlirValue:
    """The first elements along each dimension."""
    at = {
        "start_indices": numbers([0] * len(dims)),
        "limit_indices": numbers(dims),
        "strides": numbers([1] * len(dims)),
    }
    return scope.op("stablehlo.slice", [value], [array(kind, dims)], at)[0]


@writes("scan")
def scan(scope: WritingScope, instr: Instruction) -> Tree:
    """Fold a dimension step by step, and keep the outputs of each step."""
    attrs = Scan.of(instr)
    results = len(instr.shape.elements) if instr.shape.is_tuple else 1
    carries = attrs.num_carries

    def segments(count: int) -> str:
        return f"array<i32: {count - carries}, {carries}>"

    attributes = {
        "dimension": f"{attrs.dimensions[0]} : i64",
        "is_reverse": truth(attrs.is_reverse),
        "is_associative": truth(attrs.is_associative),
        "operandSegmentSizes": segments(len(instr.operands)),
        "resultSegmentSizes": segments(results),
    }
    return several(scope, instr, "chlo.scan", attributes)
