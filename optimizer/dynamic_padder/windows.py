"""Windows that move over values with run-time sizes: folding, and what pools hand back.

Where padding depends on the size, the operand is put into a larger array, after as much padding
as its size wants; over that the window moves without any.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from hlo import attributes as a
from hlo.monoid import MONOIDS
from hlo.types.values import WindowDim
from optimizer.dynamic_padder.folding import fold
from optimizer.dynamic_padder.rules import (
    CUSTOM_CALLS,
    Sizes,
    common,
    identity,
    remade,
    require,
    rule,
    within,
)
from optimizer.dynamic_padder.values import Padded, Tree
from optimizer.expanders.parts import number, spread
from optimizer.reducers import identity_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.types.values import Window

_STILL = WindowDim(1)


@rule("reduce-window")
def reduce_window(instr: Instruction, *operands: Padded) -> Tree:
    """A reduce-window over the elements that count only."""
    attrs = a.Windowed.of(instr)
    sizes = common(operands[: len(operands) // 2])
    moved = moving(Padded(operands[0].value, sizes), attrs.window)
    shape = instr.shape.elements[0] if instr.shape.is_tuple else instr.shape
    left = dict(sizes)
    for d in moved:
        w = attrs.window[d]
        require(instr, w.base_dilation == 1, "it spaces a dimension of run-time size")
        padded = make("add", sizes[d], w.pad_low + w.pad_high)
        left[d] = within(fitting(padded, w.stride, extent(w)), shape.dims[d])
    return fold(instr, [o.value for o in operands], {d: sizes[d] for d in moved}, left)


@rule("DynamicReduceWindowSamePadding", table=CUSTOM_CALLS)
def reduce_window_same(instr: Instruction, operand: Padded, initial: Padded) -> Padded:
    """A window over an array of run-time size takes as many positions as fit."""
    fill = _neutral(instr, instr.called[0], operand.value)
    whole, window, _ = _surrounded(instr, operand, fill)
    reduced = make("reduce-window", whole, initial.value, window=window, called=instr.called)
    sizes = dict(operand.sizes)
    for d in moving(operand, window):
        sizes[d] = within(covering(sizes[d], window[d].stride), instr.shape.dims[d])
    return Padded(reduced, sizes)


@rule("select-and-scatter")
def select_and_scatter(
    instr: Instruction, operand: Padded, source: Padded, initial: Padded
) -> Padded:
    """Elements that do not count are not selected; without others, nothing is scattered."""
    attrs = a.Windowed.of(instr)
    select, scatter = instr.called
    array, added = operand.value, source.value
    if moved := moving(operand, attrs.window):
        array = operand.masked(_never(instr, select, array), moved)
    if source.sizes:
        added = source.masked(_neutral(instr, scatter, added))
    return remade(instr, [Padded(array), Padded(added), initial], operand.sizes)


@rule("DynamicSelectAndScatterSamePadding", table=CUSTOM_CALLS)
def select_and_scatter_same(
    instr: Instruction, operand: Padded, source: Padded, initial: Padded
) -> Padded:
    """A select-and-scatter over the operand with its padding, which is then removed."""
    select, scatter = instr.called
    fill = _never(instr, select, operand.value)
    whole, window, starts = _surrounded(instr, operand, fill)
    added = source.masked(_neutral(instr, scatter, source.value))
    result = make(
        *("select-and-scatter", whole, added, initial.value),
        window=window,
        called=instr.called,
    )
    dims = operand.value.shape.dims
    offsets = [starts.get(d) or number(0) for d in range(len(dims))]
    return Padded(make("dynamic-slice", result, *offsets, dynamic_slice_sizes=dims), operand.sizes)


def moving(operand: Padded, window: Window) -> list[int]:
    """The dimensions of run-time size along which a window moves by more than itself."""
    return [d for d in operand.sizes if window[d] != _STILL]


def extent(w: WindowDim) -> int:
    """The number of elements that a window covers, holes included."""
    return (w.size - 1) * w.window_dilation + 1


def fitting(size: Instruction, stride: int, covered: int) -> Instruction:
    """The number of positions of a window that lie within a dimension."""
    room = make("maximum", make("add", size, stride - covered), 0)
    return make("divide", room, stride)


def covering(size: Instruction, stride: int) -> Instruction:
    """The number of positions of a window whose padding lets it begin at every step."""
    return make("divide", make("add", size, stride - 1), stride)


def padding_low(size: Instruction, stride: int, covered: int) -> Instruction:
    """The low part of that padding: the smaller half."""
    reach = make("multiply", make("subtract", covering(size, stride), 1), stride)
    total = make("maximum", make("subtract", make("add", reach, covered), size), 0)
    return make("divide", total, 2)


def put(
    array: Instruction,
    fill: Instruction,
    starts: Mapping[int, Instruction],
    dims: Sequence[int],
) -> Instruction:
    """An array within a larger one of a number, at offsets that come at run time."""
    offsets = [starts.get(d) or number(0) for d in range(len(dims))]
    return make("dynamic-update-slice", spread(fill, dims), array, *offsets)


def _surrounded(
    instr: Instruction, operand: Padded, fill: Instruction
) -> tuple[Instruction, Window, Sizes]:
    """An operand with its padding, the window that moves over it, and where the operand lies."""
    window = list(cast("Window", a.CustomCall.of(instr).window))
    dims, starts = list(operand.value.shape.dims), Sizes()
    moved = moving(operand, tuple(window))
    for d in moved:
        w = window[d]
        count = -(-dims[d] // w.stride)
        needed = (count - 1) * w.stride + extent(w)
        starts[d] = padding_low(operand.sizes[d], w.stride, extent(w))
        # The padding is shorter than the window.
        dims[d] = max(needed, dims[d] + extent(w) - 1)
        window[d] = replace(w, pad_low=0, pad_high=needed - dims[d])
    return put(operand.masked(fill, moved), fill, starts, dims), tuple(window), starts


def _neutral(instr: Instruction, body: Computation, like: Instruction) -> Instruction:
    kind = like.shape.element_type
    return identity(instr, identity_of(body, kind), kind)


def _never(instr: Instruction, select: Computation, like: Instruction) -> Instruction:
    """The value that is not selected beside any other."""
    root = select.root
    direction = a.Compare.of(root).direction if root.opcode == "compare" else ""
    known = {"GE": "maximum", "GT": "maximum", "LE": "minimum", "LT": "minimum"}
    plain = direction in known and root.operands == select.parameters
    require(instr, plain, "what its computation never selects is not known")
    kind = like.shape.element_type
    return identity(instr, MONOIDS[known[direction]].identity(kind), kind)
