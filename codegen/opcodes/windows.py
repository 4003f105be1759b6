"""Reduce-window: a fold of the elements under each position of a window."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import (
    NEVER,
    condition_of,
    item,
)
from codegen.opcodes.folding import Fold, in_lanes, window_step
from codegen.opcodes.movement import define
from hlo import attributes as a
from hlo.support import machine
from hlo.types.values import WindowDim
from optimizer.analysis.indexing import Index, Sum, Within, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.elements.writer import Values
    from codegen.expressions import Expr, Name
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from hlo.types.values import Window


@dataclass(frozen=True, slots=True)
class RunningWindow:
    """Windows of which each holds all elements of the one before, and one more.

    Attributes
    ----------
    axis : along which they run.
    backwards : from the last output to the first.
    shift : the new element's index, less the output's.
    """

    axis: int
    backwards: bool
    shift: int


@dataclass(frozen=True, slots=True)
class ReduceWindow:
    """A reduce-window, taken apart."""

    instr: Instruction
    arrays: tuple[Instruction, ...]
    initials: tuple[Instruction, ...]
    window: Window

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes of the array that is folded."""
        return self.arrays[0].shape.dims

    @property
    def shape(self) -> Shape:
        """The shape of each result."""
        return next(s for _, s in self.instr.shape.leaves())

    @property
    def types(self) -> list[ElementType]:
        """The element types of the results."""
        return [x.shape.element_type for x in self.arrays]

    @property
    def running(self) -> RunningWindow | None:
        """The run of windows along one dimension; None if they do not begin or end together."""
        active = [d for d, w in enumerate(self.window) if w != WindowDim(1)]
        if len(active) != 1:
            return None
        (axis,) = active
        window, n, count = self.window[axis], self.dims[axis], self.shape.dims[axis]
        if (window.stride, window.base_dilation, window.window_dilation) != (1, 1, 1):
            return None
        first, last = -window.pad_low, window.size - 1 - window.pad_low  # of output 0
        if first + count - 1 <= 0 and last <= 0:
            return RunningWindow(axis, backwards=False, shift=last)
        if last >= n - 1 and first + count >= n:
            return RunningWindow(axis, backwards=True, shift=first)
        return None

    def fold(self, body: Body, size: int | None = None, counter: str = "") -> Fold:
        """The variables to fold into, at their initial values."""
        starts = [body.scalar(i) for i in self.initials]
        computation, name = self.instr.called[0], self.instr.name
        return Fold(body, computation, self.types, starts, name, size=size, counter=counter)

    def store(self, body: Body, fold: Fold, outputs: Sequence[Name], index: Index) -> None:
        """Write the results at an index."""
        number = linear(index, self.shape.dims)
        for output, kind, value in zip(outputs, self.types, fold.results, strict=True):
            body.assign(item(output, number), body.stored(kind, value))


def windows_of(instr: Instruction) -> ReduceWindow:
    """Give a reduce-window, taken apart."""
    attrs = a.Windowed.of(instr)
    half = len(instr.operands) // 2
    return ReduceWindow(instr, instr.operands[:half], instr.operands[half:], attrs.window)


@define("reduce-window")
def write_reduce_window(body: Body, instr: Instruction, index: Index) -> Values:
    """Fold the elements that the window shows; padding and holes are no elements."""
    windows = windows_of(instr)
    fold = windows.fold(body)
    sizes = [most_shown(w) for w in windows.window]
    if prod(sizes) <= machine.LANES:
        for offset in product(*map(range, sizes)):
            _fold_in(body, windows, fold, index, tuple(map(Sum, offset)))
        return fold.results
    with body.block() as statements, body.loops("w" * len(sizes), sizes) as offset:
        _fold_in(body, windows, fold, index, offset)
    body.add(*in_lanes(statements, [fold]))
    return fold.results


def _fold_in(body: Body, windows: ReduceWindow, fold: Fold, index: Index, offset: Index) -> None:
    """Fold in an element that the window may show, if it does."""
    condition, at = shown(index, offset, windows.dims, windows.window)
    if condition != NEVER:
        with body.when(condition):
            fold.add([body.element(x, at) for x in windows.arrays])


def most_shown(window: WindowDim) -> int:
    """An upper bound of the elements that a window shows."""
    if window.window_dilation != 1:
        return window.size
    return -(-window.size // window.base_dilation)


def shown(
    index: Index, offset: Index, dims: Sequence[int], window: Window
) -> tuple[Expr | None, Index]:
    """The element number `offset` under the window at position `index`, and whether there is one.

    Where elements lie `base_dilation` apart, a window that starts at s shows first the one of
    number ceil(s / base_dilation), and those after it. So holes need no steps of their own.

    Returns
    -------
    tuple
        a condition, None where it always holds, and the index.
    """
    inside: list[Within] = []
    at: list[Sum] = []
    for i, step, n, w in zip(index, offset, dims, window, strict=True):
        apart, start = w.base_dilation, i * w.stride + -w.pad_low
        if w.window_dilation != 1:
            condition, element = window_step(i, step, n, w)
            inside.append(condition)
            at.append(element)
            continue
        # The dividend must not be negative.
        ahead = max(0, -(-w.pad_low // apart))
        element = (start + (ahead * apart + apart - 1)) // apart + step + -ahead
        inside.append(Within(element, 0, n))
        if w.size % apart:
            inside.append(Within(element * apart + start * -1, 0, w.size))
        at.append(element)
    return condition_of(inside), tuple(at)
