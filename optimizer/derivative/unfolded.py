"""Opcodes that are written as others where they are differentiated, and have no rule themselves.

reduce, f of several opcodes    a tree: f(f(x0, x1), f(x2, x3))
reduce-window, such an f        f of neighbours, of pairs of neighbours, and so on
convolution, reversed windows   the reversed kernel
scatter, unique and such an f   f of the elements that are there, then a scatter that replaces
batch-norm-*, ragged-dot, ...   as the passes write them that expand them for emitters
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.names import NameSupply
from hlo.types.values import PaddingDim
from optimizer.derivative.indexing import combined_first
from optimizer.derivative.reductions import KEEPS
from optimizer.expanders.apply import applied, is_elementwise
from optimizer.expanders.dots.ragged_dot_rewriter import dot_of_groups
from optimizer.expanders.dots.scaled_dot_rewriter import dot_of_scaled
from optimizer.expanders.linear_algebra import batchnorm_expander
from optimizer.expanders.op_expander import ExpansionSite
from optimizer.expanders.parts import cut, permuted, spread, to_dims
from optimizer.reducers import leaves_alone, operation_of
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Computation, Instruction

    Unfolding = Callable[[Instruction], Instruction | None]


def reduce(instr: Instruction) -> Instruction | None:
    """A reduction by any computation, as a tree of elementwise instructions.

    Of extremes that start at a number, the number is compared last.
    """
    count = len(instr.operands) // 2
    opcode = operation_of(instr.called[0], instr) if count == 1 else ""
    arrays, initials = instr.operands[:count], instr.operands[count:]
    if opcode == "add" or not is_elementwise(instr.called[0]):
        return None
    if opcode in KEEPS and leaves_alone(initials[0], instr.called[0], zero_sign=True):
        return None
    axes = a.Dimensions.of(instr).dimensions
    other_dims = [d for d in range(arrays[0].shape.rank) if d not in axes]
    dims = tuple(arrays[0].shape.dims[d] for d in other_dims)
    values = [permuted(x, [*axes, *other_dims]) for x in arrays]
    size = values[0].shape.size // prod(dims) if prod(dims) else 0
    starts = [spread(x, dims) for x in initials]
    if size == 0:
        return _whole(instr, starts)
    values = [to_dims(x, (size, *dims)) for x in values]
    while size > 1:
        # Pairs of neighbours, so that elements stay in their order.
        pairs = [cut(x, 0, k, size - size % 2, 2) for k in (0, 1) for x in values]
        halves = applied(instr.called[0], pairs)
        if size % 2:
            rest = [cut(x, 0, size - 1, size) for x in values]
            joined = zip(halves, rest, strict=True)
            halves = [make("concatenate", *pair, dimensions=(0,)) for pair in joined]
        values, size = halves, size // 2 + size % 2
    last = [to_dims(x, dims) for x in values]
    return _whole(instr, applied(instr.called[0], [*starts, *last]))


def _whole(instr: Instruction, results: Sequence[Instruction]) -> Instruction:
    return make("tuple", *results) if instr.shape.is_tuple else results[0]


def reduce_window(instr: Instruction) -> Instruction | None:
    """A reduction of windows by any computation: windows of 2, 4, 8 elements, put together."""
    count = len(instr.operands) // 2
    opcode = operation_of(instr.called[0], instr) if count == 1 else ""
    arrays, initials = instr.operands[:count], instr.operands[count:]
    window, body = a.Windowed.of(instr).window, instr.called[0]
    if opcode == "add" and value_of(initials[0]) is not None:
        return None
    simple = all(
        w.base_dilation == w.window_dilation == 1 and min(w.pad_low, w.pad_high) >= 0
        for w in window
    )
    if opcode in KEEPS and simple and leaves_alone(initials[0], body, zero_sign=True):
        return None
    results = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    if not is_elementwise(body) or not results[0].size:
        return None
    padding = tuple(PaddingDim(w.pad_low, w.pad_high, w.base_dilation - 1) for w in window)
    pairs = zip(arrays, initials, strict=True)
    values = [make("pad", x, initial, padding=padding) for x, initial in pairs]
    for axis, w in enumerate(window):
        if w.size > 1:
            values = moved(values, axis, w.size, w.window_dilation, body)
        if w.stride > 1:
            limit = (results[0].dims[axis] - 1) * w.stride + 1
            values = [cut(x, axis, 0, limit, w.stride) for x in values]
    starts = [spread(x, results[0].dims) for x in initials]
    return _whole(instr, applied(body, [*starts, *values]))


def moved(
    values: Sequence[Instruction], axis: int, size: int, dilation: int, body: Computation
) -> list[Instruction]:
    """Windows of a size along a dimension, at all positions, from windows of powers of two."""
    count = values[0].shape.dims[axis] - (size - 1) * dilation
    state: list[Instruction] = []
    covered, power, wide = 0, 1, list(values)
    while True:
        if size & power:
            first = covered * dilation
            part = [cut(x, axis, first, first + count) for x in wide]
            state = applied(body, [*state, *part]) if state else part
            covered += power
        if covered == size:
            return state
        step, n = power * dilation, wide[0].shape.dims[axis]
        left = [cut(x, axis, 0, n - step) for x in wide]
        wide = applied(body, [*left, *(cut(x, axis, step, n) for x in wide)])
        power *= 2


def convolution(instr: Instruction) -> Instruction | None:
    """A convolution whose windows are not reversed: its kernel is."""
    attrs = a.Convolution.of(instr)
    spatial = attrs.dim_labels.kernel_spatial
    pairs = zip(attrs.window, spatial, strict=True)
    reversed_dims = tuple(d for w, d in pairs if w.reversal)
    if not reversed_dims:
        return None
    images, kernel = instr.operands
    window = tuple(replace(w, reversal=False) for w in attrs.window)
    turned = make("reverse", kernel, dimensions=reversed_dims)
    return instr.with_(
        operands=(images, turned), attrs=replace(attrs, window=window), control_predecessors=()
    )


def _expanded(expansion: Callable[[ExpansionSite], Instruction | None]) -> Unfolding:
    return lambda instr: expansion(ExpansionSite(instr, NameSupply()))


# Opcodes that passes expand: neither derivatives nor batches need rules of them.
WRITTEN_AS_OTHERS: dict[str, Unfolding] = {
    "batch-norm-grad": _expanded(batchnorm_expander.gradient),
    "batch-norm-inference": _expanded(batchnorm_expander.inference),
    "batch-norm-training": _expanded(batchnorm_expander.training),
    "ragged-dot": _expanded(dot_of_groups),
    "scaled-dot": _expanded(dot_of_scaled),
}
# Each gives another form of an instruction, or None where its opcode's rule holds.
UNFOLDINGS: dict[str, Unfolding] = {
    "reduce": reduce,
    "reduce-window": reduce_window,
    "convolution": convolution,
    "scatter": combined_first,
    **WRITTEN_AS_OTHERS,
}
