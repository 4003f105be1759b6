"""Computes running folds in blocks: n elements by n steps instead of n^2.

A reduce-window whose window reaches back to the start, or to the end, yields the fold of all
elements up to each. Of n elements, cut into blocks of b,

    fold up to i   =   fold of all blocks before i's block, and in it up to i

so that n/b blocks need running folds of b elements each, and one running fold of n/b totals, which
is computed in blocks again if it is long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Windowed
from hlo.types.values import WindowDim
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import cut, padded, spread, to_dims
from optimizer.reducers import leaves_alone
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


@expander(
    "reduce-window-rewriter",
    "reduce-window",
    promise=ROUNDING,
    xla="xla/service/reduce_window_rewriter.cc, TryOptimizeCumSumOrProd",
)
def fold_in_blocks(site: ExpansionSite, *, base_length: int = 32) -> Instruction | None:
    """Computes running folds of long dimensions in blocks.

    Parameters
    ----------
    base_length : elements a block; shorter dimensions are left alone.
    """
    return Runs(site, base_length).rewritten()


class Runs:
    """A reduce-window, and how it may be a running fold."""

    def __init__(self, site: ExpansionSite, base_length: int) -> None:
        self.site, self.base = site, base_length
        self.window = Windowed.of(site.instr).window
        self.body: Computation = site.instr.called[0]

    def rewritten(self) -> Instruction | None:
        """The running fold in blocks; None if it is none, or short."""
        if len(self.site.instr.operands) != 2:
            return None
        x, initial = self.site.instr.operands
        wide = [d for d, w in enumerate(self.window) if w != WindowDim(1)]
        if len(wide) != 1 or not leaves_alone(initial, self.body, zero_sign=True):
            return None
        axis, n = wide[0], x.shape.dims[wide[0]]
        forwards = self.window[axis] == to_start(n)
        if n <= self.base or not (forwards or self.window[axis] == to_end(n)):
            return None
        return self.folded(x, initial, axis, forwards=forwards)

    def folded(
        self, x: Instruction, initial: Instruction, axis: int, *, forwards: bool
    ) -> Instruction:
        """The running fold along a dimension."""
        dims, n = x.shape.dims, x.shape.dims[axis]
        if n <= self.base:
            window = [WindowDim(1)] * len(dims)
            window[axis] = to_start(n) if forwards else to_end(n)
            return make("reduce-window", x, initial, window=tuple(window), called=(self.body,))
        blocks = -(-n // self.base)
        full = padded(x, initial, axis, 0, blocks * self.base - n)
        split = to_dims(full, (*dims[:axis], blocks, self.base, *dims[axis + 1 :]))
        inner = self.folded(split, initial, axis + 1, forwards=forwards)
        end = self.base - 1 if forwards else 0
        totals = cut(inner, axis + 1, end, end + 1)
        totals = to_dims(totals, (*dims[:axis], blocks, *dims[axis + 1 :]))
        runs = self.folded(totals, initial, axis, forwards=forwards)
        before = padded(runs, initial, axis, *((1, -1) if forwards else (-1, 1)))
        others = [d + (d > axis) for d in range(len(dims))]
        combined = make(self.body.root.opcode, spread(before, split.shape.dims, others), inner)
        return cut(to_dims(combined, full.shape.dims), axis, 0, n)


def to_start(n: int) -> WindowDim:
    """A window that reaches from the first element to its position."""
    return WindowDim(n, pad_low=n - 1)


def to_end(n: int) -> WindowDim:
    """A window that reaches from its position to the last element."""
    return WindowDim(n, pad_high=n - 1)
