"""Opcodes that fold the positions of a moving window: reduce-window and select-and-scatter.

A window takes as many positions along a dimension as `WindowDim.positions` says. What lies in the
padding or between dilated elements is no element: it is skipped, not folded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.monoid import monoid_of
from hlo.types.values import PaddingDim
from interpreter.folded import UFUNCS, decode, encode, encoded_identity
from interpreter.indexing import combine_at
from interpreter.lift import lifted
from interpreter.movement import pad
from interpreter.numbers.widths import type_of
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from hlo.attributes import Windowed
    from hlo.instruction import Computation, Instruction
    from hlo.monoid import Monoid
    from hlo.types.values import Window
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]


@evaluates("reduce-window", xla="ReduceWindow")
def evaluate_reduce_window(
    frame: Frame, instr: Instruction, attrs: Windowed, *operands: Array
) -> Array | tuple[Array, ...]:
    """Fold the elements that a moving window shows, at each of its positions.

    Parameters
    ----------
    operands : n arrays of one shape, then n initial values of shape ().

    Returns
    -------
    Array or tuple of Array
        shape di' = window[i].positions(di); one array, or a tuple of n.
    """
    half = len(operands) // 2
    arrays, initials = operands[:half], operands[half:]
    computation, window = instr.called[0], attrs.window
    monoid = monoid_of(computation)
    if monoid is not None and all(w.size > 0 for w in window):
        return _fold_known(monoid, arrays[0], initials[0], window)
    results = _fold_in_order(frame, computation, arrays, initials, window)
    return results if instr.shape.is_tuple else results[0]


def _fold_known(monoid: Monoid, array: Array, initial: Array, window: Window) -> Array:
    """Fold one dimension of the window after the other, by an operation that commutes."""
    combine = UFUNCS[monoid.opcode]
    numbers, first = encode(monoid, array), encode(monoid, initial)
    result = pad(numbers, encoded_identity(monoid, numbers.dtype), padding_of(window))
    for axis, dim in enumerate(window):
        result = np.moveaxis(result, axis, 0)
        result = _slide(combine, result, dim.size, dim.window_dilation)[:: dim.stride]
        result = np.moveaxis(result, 0, axis)
    return decode(monoid, combine(first, result), type_of(array))


def _slide(combine: Callable[[Array, Array], Array], x: Array, size: int, dilation: int) -> Array:
    """Fold x[i], x[i + dilation], ... (`size` of them) for every i, in log2(size) rounds.

    Windows of 2 w elements are pairs of windows of w elements; the binary digits of `size` say
    which widths make up the window.
    """
    length = max(x.shape[0] - (size - 1) * dilation, 0)
    folded: Array | None = None
    offset, width = 0, dilation
    while size:
        if size & 1:
            part = x[offset : offset + length]
            folded = part if folded is None else combine(folded, part)
            offset += width
        size >>= 1
        if size:
            x = combine(x[:-width], x[width:])
            width *= 2
    assert folded is not None
    return folded


def _fold_in_order(
    frame: Frame,
    computation: Computation,
    arrays: tuple[Array, ...],
    initials: tuple[Array, ...],
    window: Window,
) -> tuple[Array, ...]:
    """Fold each window's elements in row-major order, at all positions at once."""
    padding = padding_of(window)
    padded = [pad(x, i, padding) for x, i in zip(arrays, initials, strict=True)]
    exists = pad(np.ones(arrays[0].shape, np.bool_), np.zeros((), np.bool_), padding)
    counts = positions_of(arrays[0], window)
    results = tuple(np.broadcast_to(initial, counts) for initial in initials)
    for at in offsets_of(window, counts):
        folded = lifted(frame, computation, *results, *(x[at] for x in padded))
        pairs = zip(folded, results, strict=True)
        results = tuple(np.where(exists[at], new, old) for new, old in pairs)
    return results


def padding_of(window: Window) -> tuple[PaddingDim, ...]:
    """The padding around and between the elements of an array, under a window."""
    return tuple(PaddingDim(w.pad_low, w.pad_high, w.base_dilation - 1) for w in window)


def positions_of(array: Array, window: Window) -> tuple[int, ...]:
    """The number of positions of the window along each dimension."""
    return tuple(w.positions(n) for w, n in zip(window, array.shape, strict=True))


def offsets_of(window: Window, counts: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """For each element of the window, where the padded array holds it at all positions."""
    for offset in np.ndindex(*(w.size for w in window)):
        firsts = [o * w.window_dilation for o, w in zip(offset, window, strict=True)]
        yield tuple(
            slice(first, first + max((count - 1) * w.stride + 1, 0), w.stride)
            for first, count, w in zip(firsts, counts, window, strict=True)
        )


@evaluates("select-and-scatter", xla="SelectAndScatter")
def evaluate_select_and_scatter(
    frame: Frame,
    instr: Instruction,
    attrs: Windowed,
    operand: Array,
    source: Array,
    initial: Array,
) -> Array:
    """Scatter each element of a source to the element that is selected in its window.

    Parameters
    ----------
    operand : in each window the first element is kept, until `select(kept, next)` fails.
    source : an element for each position of the window.
    initial : shape (); what the result holds before `scatter` combines source elements into it.

    Returns
    -------
    Array
        the operand's shape
    """
    select, scatter = instr.called
    padding = padding_of(attrs.window)
    values = pad(operand, initial, padding)
    numbers = pad(np.arange(operand.size).reshape(operand.shape), np.array(-1), padding)
    counts = positions_of(operand, attrs.window)
    chosen_value = np.zeros(counts, operand.dtype)
    chosen = np.full(counts, -1)
    for at in offsets_of(attrs.window, counts):
        is_chosen = lifted(frame, select, chosen_value, values[at])[0] & (chosen >= 0)
        replaced = (numbers[at] >= 0) & ~is_chosen
        chosen_value = np.where(replaced, values[at], chosen_value)
        chosen = np.where(replaced, numbers[at], chosen)
    # A window that shows padding only selects nothing.
    some = chosen >= 0
    into = np.full(operand.size, initial, source.dtype)
    combined = combine_at(frame, scatter, [into], chosen[some], [source[some]])
    return combined[0].reshape(operand.shape)
