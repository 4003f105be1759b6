"""Windows that move over an array, and the opcodes that reduce the elements in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    compatible,
    dynamic_flags,
    expect_array,
    expect_parameters,
    scalar_of,
    show,
    types_agree,
)
from hlo.infer.reducer import arrays_and_initials, expect_reducer
from hlo.infer.table import infers
from hlo.types.element_type import PRED, ElementType
from hlo.types.shape import UNBOUNDED, Shape, array, tuple_of
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.types.values import Window


def expect_window(window: Window, rank: int) -> None:
    """HLO028 unless the window has a dimension for each of the array's, HLO032 if one is empty."""
    if len(window) != rank:
        raise HloError(
            "HLO028", f"a window of {counted(len(window), 'dimension')} over an array of {rank}"
        )
    for dim in window:
        for name in ("size", "stride", "base_dilation", "window_dilation"):
            if getattr(dim, name) < 1:
                raise HloError("HLO032", f"window {name} is {getattr(dim, name)}")


def window_positions(window: Window, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The number of positions of the window along each dimension."""
    return tuple(
        UNBOUNDED if size == UNBOUNDED else dim.positions(size)
        for dim, size in zip(window, dims, strict=True)
    )


def windowed(operand: Shape, window: Window, element_type: ElementType) -> Shape:
    """An element for each position of the window over the operand."""
    expect_array(operand)
    expect_window(window, operand.rank)
    return array(element_type, window_positions(window, operand.dims), dynamic_flags(operand))


@infers("reduce-window", xla="ShapeInference::InferReduceWindowShape")
def infer_reduce_window(instr: Instruction, attrs: a.Windowed, *operands: Shape) -> Shape:
    """One element for each position of the window, or a tuple of n such arrays."""
    inputs, inits = arrays_and_initials(operands)
    expect_reducer(instr.called[0], inits, inputs)
    results = [
        windowed(operand, attrs.window, init.element_type)
        for operand, init in zip(inputs, inits, strict=True)
    ]
    return results[0] if instr.called[0].root.shape.is_array else tuple_of(*results)


@infers("select-and-scatter", xla="ShapeInference::InferSelectAndScatterShape")
def infer_select_and_scatter(
    instr: Instruction, attrs: a.Windowed, operand: Shape, source: Shape, init: Shape
) -> Shape:
    """The operand's shape; the source has an element for each position of the window."""
    expect_array(operand, source)
    select, scatter = instr.called
    _expect_selector(select, scalar_of(operand))
    expect_reducer(scatter, [init], [source])
    wanted = windowed(operand, attrs.window, operand.element_type)
    if not compatible(source, wanted, precision=False):
        raise HloError(
            "HLO029", f"the source is {show(source)}, but the window takes {show(wanted)}"
        )
    return operand


def _expect_selector(select: Computation, element: Shape) -> None:
    """Check the type (T, T) -> pred[]."""
    for parameter in expect_parameters(select, 2):
        if parameter.dims or not types_agree(parameter, element):
            raise HloError(
                "HLO040", f"{select.name} takes {show(parameter)}, but gets {show(element)}"
            )
    if not compatible(select.root.shape, array(PRED)):
        raise HloError("HLO041", f"{select.name} must yield pred[], not {show(select.root.shape)}")
