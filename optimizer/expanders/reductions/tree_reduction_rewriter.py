"""Reduces long dimensions in two steps or more, which rounds less.

reduce(x), n = 1000   =>   reduce(reduce-window(x), size=32 stride=32)

A sum of n floats, added up one after the other, has n roundings in a row; in a tree of
groups of w elements it has w log(n) / log(w).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Dimensions
from hlo.types.values import WindowDim
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.reducers import leaves_alone
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "tree_reduction_rewriter",
    "reduce",
    promise=ROUNDING,
    xla="xla/service/tree_reduction_rewriter.cc",
)
def reduce_in_groups(site: ExpansionSite, *, window: int = 32) -> Instruction | None:
    """Splits reductions of long dimensions.

    Parameters
    ----------
    window : elements that are reduced at once.
    """
    instr = site.instr
    if len(instr.operands) != 2:
        return None
    (x, initial), axes = instr.operands, Dimensions.of(instr).dimensions
    if not leaves_alone(initial, instr.called[0], zero_sign=True):
        return None
    while any(x.shape.dims[d] > window for d in axes):
        windows = tuple(
            grouped(n, window) if d in axes and n > window else WindowDim(1)
            for d, n in enumerate(x.shape.dims)
        )
        x = make("reduce-window", x, initial, window=windows, called=instr.called)
    return None if x is instr.operands[0] else instr.with_(operands=(x, initial))


def grouped(n: int, size: int) -> WindowDim:
    """A window over one group after the other, the last one padded."""
    return WindowDim(size, stride=size, pad_high=-n % size)
