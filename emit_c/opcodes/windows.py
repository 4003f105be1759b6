"""Reduce-window, a row of outputs at a time.

Where windows are large, rows of outputs are folded side by side, so that every step of the window
runs over a whole row in vector lanes; small ones are written out for each output. Windows that
reach back to the start, or on to the end, need one step an output: what has been folded so far is
part of what comes next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import NEVER, Group, Literal, apply, condition_of, indexed
from codegen.opcodes.folding import Fold, over
from codegen.opcodes.windows import most_shown, shown, windows_of
from codegen.statements import If
from codegen.walk import spelled_out
from emit_c.opcodes.folding import blocks
from emit_c.table import define_whole
from hlo.monoid import monoid_of
from optimizer.analysis.indexing import Index, Sum, Within, counter
from optimizer.fusion.policy import is_large_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr, Name
    from codegen.opcodes.windows import ReduceWindow, RunningWindow
    from codegen.statements import Statement
    from hlo.instruction import Instruction


def write_whole_reduce_window(
    body: Body, instr: Instruction, outputs: Sequence[Name]
) -> int | None:
    """Fold running windows step by step, and other large ones a row of outputs at a time."""
    windows = windows_of(instr)
    run = windows.running
    # Backwards, elements come in another order, so the operation must be a known one.
    if run is not None and (not run.backwards or monoid_of(instr.called[0])):
        _write_run(body, windows, run, outputs)
        return 0
    if not is_large_window(instr) or windows.window[-1].base_dilation != 1:
        return None
    _write_rows(body, windows, outputs)
    return 0


def _write_run(
    body: Body, windows: ReduceWindow, run: RunningWindow, outputs: Sequence[Name]
) -> None:
    """Fold one element more for each output; side by side where rows of others lie in memory."""
    dims = windows.shape.dims
    last = len(dims) - 1
    others = [1 if d in (run.axis, last) else n for d, n in enumerate(dims)]
    for number, start, width in blocks(dims[last] if run.axis != last else 1):
        column = body.name("column") if run.axis != last else ""
        names = [*(f"i{d}" for d in range(len(dims))), "block"]
        with body.loops(names, [*others, number], parallel=True) as at:
            index = [*at[:last], at[-1] * width + counter(column, width) + start]
            fold = windows.fold(body, width if column else None, column)
            with body.loops(["step"], [dims[run.axis]]) as (step,):
                index[run.axis] = step * -1 + (dims[run.axis] - 1) if run.backwards else step
                _write_step(body, windows, run, fold, tuple(index), outputs, (column, width))


def _write_step(
    body: Body, windows: ReduceWindow, run: RunningWindow, fold: Fold, index: Index,
    outputs: Sequence[Name], columns: tuple[str, int],
) -> None:  # fmt: skip
    """Fold the element that an output has more than the one before, where there is one."""
    element = index[run.axis] + run.shift
    condition = condition_of([Within(element, 0, windows.dims[run.axis])])
    at = (*index[: run.axis], element, *index[run.axis + 1 :])
    with body.block() as folded:
        fold.add([body.element(x, at) for x in windows.arrays])
    with body.block() as stored:
        windows.store(body, fold, outputs, index)
    name, width = columns

    def wide(statements: Sequence[Statement]) -> tuple[Statement, ...]:
        return (over(name, width, statements),) if name else tuple(statements)

    if condition is not None:
        body.add(If(condition, wide(folded)), *wide(stored))
    else:
        body.add(*wide([*folded, *stored]))


def _write_rows(body: Body, windows: ReduceWindow, outputs: Sequence[Name]) -> None:
    """Fold the window's elements one after the other, each for a row of outputs."""
    *dims, size = windows.shape.dims
    outer = windows.window[:-1]
    for number, start, width in blocks(size):
        column = body.name("column")
        names = [*(f"i{d}" for d in range(len(dims))), "block"]
        with body.loops(names, [*dims, number], parallel=True) as counters:
            base = counters[-1] * width + start
            fold = windows.fold(body, width, column)
            with body.loops("w" * len(outer), [most_shown(w) for w in outer]) as offset:
                condition, at = shown(counters[:-1], offset, windows.dims[:-1], outer)
                if condition != NEVER:
                    with (
                        body.when(condition),
                        body.loops(["step"], [windows.window[-1].size]) as (step,),
                    ):
                        _write_row_step(body, windows, fold, at, base, step, (column, width))
            with body.block() as stored:
                here = (*counters[:-1], base + counter(column, width))
                windows.store(body, fold, outputs, here)
            body.add(over(column, width, stored))


def _write_row_step(
    body: Body, windows: ReduceWindow, fold: Fold, at: Index, base: Sum, step: Sum,
    columns: tuple[str, int],
) -> None:  # fmt: skip
    """Fold one element of the window for those outputs of a row where it is no padding."""
    last, n = windows.window[-1], windows.dims[-1]
    name, width = columns
    shift = step * last.window_dilation + -last.pad_low
    # The outputs for which 0 <= output * stride + shift < n, as columns from `base` on.
    ends = [_within(shift * -1 + end, last.stride, base, width) for end in (0, n)]
    if ends[0] == width or ends[1] == 0:
        return
    with body.block() as statements:
        output = base + counter(name, width)
        fold.add([body.element(x, (*at, output * last.stride + shift)) for x in windows.arrays])
    body.add(over(name, ends[1], statements, start=ends[0]))


def _within(end: Sum, stride: int, base: Sum, width: int) -> int | Expr:
    """The column of the first output from `end / stride` on, or the nearer end of the block."""
    low, high = (-(-number // stride) for number in (end.low, end.high))
    if high <= base.low:
        return 0
    if low >= base.high + width:
        return width
    if base.low == base.high and low == high:
        return low - base.low
    first = Group(indexed(base))
    if low == high:
        return apply(FUNCTIONS["column_in_block"], Literal(low) - first, width)
    # C rounds quotients of negative numbers up, but not to more than 0, which is the nearer end.
    output: Expr = indexed(end)
    if stride != 1:
        output = (spelled_out(end) + (stride - 1)) // stride
    return apply(FUNCTIONS["column_in_block"], output - first, width)


define_whole("reduce-window", write_whole_reduce_window)
