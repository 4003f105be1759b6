"""Rules whose left side folds the positions of a moving window of one array."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.types.values import SliceDim, Window, WindowDim
from interpreter.numbers.compare import ZERO_SIGN
from optimizer.dimensions import is_empty, static
from optimizer.reducers import is_neutral, is_neutral_but_for_zeros
from optimizer.rewriting.guard import guard
from optimizer.rewriting.pattern import (
    broadcast,
    c,
    f,
    p,
    pad,
    q,
    reduce,
    reduce_window,
    reshape,
    slice_,
    x,
    y,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from hlo.types.values import PaddingDim


@guard
def is_trivial(p: Window) -> bool:
    """Windows of one element, at each element."""
    return all(replace(w, window_dilation=1, reversal=False) == WindowDim(1) for w in p)


def window_of_one(x: Instruction, p: Window, root: Instruction) -> Instruction | None:
    """Windows of one element at every stride-th index are a slice.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleReduceWindow`.
    """
    plain = [replace(w, stride=1, window_dilation=1, reversal=False) for w in p]
    if any(w != WindowDim(1) for w in plain) or not root.shape.size:
        return None
    return slice_(x, tuple(SliceDim(0, n, w.stride) for n, w in zip(x.shape.dims, p, strict=True)))


@rule(
    reduce_window(pad(x, c, q), c, window=p, to_apply=f),
    where=is_neutral_but_for_zeros(c, f) & ~is_empty(x) & static,
    xla="HandleReduceWindow: reduce-window(pad(A)) => reduce-window(A)",
)
def window_over_pad(
    x: Instruction, c: Instruction, p: Window, q: tuple[PaddingDim, ...], f: Computation
) -> Instruction | None:
    """The window may pad by itself, with the initial value."""
    window = padded_window(p, q)
    return None if window is None else reduce_window(x, c, window=window, to_apply=f)


def padded_window(window: Window, padding: tuple[PaddingDim, ...]) -> Window | None:
    """The window with the padding of a pad instruction besides its own; None if there is none.

    A base dilation puts holes between the elements of the padding too, and after its last there
    is none: so each element more before or after is as many elements as the dilation.
    """
    if any(e.low < 0 or e.high < 0 for e in padding):
        return None
    if any(e.interior and w.base_dilation > 1 for w, e in zip(window, padding, strict=True)):
        return None
    return tuple(
        replace(
            w,
            pad_low=w.pad_low + e.low * w.base_dilation,
            pad_high=w.pad_high + e.high * w.base_dilation,
            base_dilation=w.base_dilation * (1 + e.interior),
        )
        for w, e in zip(window, padding, strict=True)
    )


@rule(
    reduce_window(x, y, window=p, to_apply=f),
    where=is_neutral_but_for_zeros(y, f) & ~is_empty(x) & static,
    xla="HandleReduceWindow: reduce-window of everything => reduce",
)
def window_of_everything(
    x: Instruction, y: Instruction, p: Window, f: Computation, root: Instruction
) -> Instruction | None:
    """A window as large as the array has one position; one of size 1 leaves its dimension alone."""
    folded: list[int] = []
    for d, (w, n) in enumerate(zip(p, x.shape.dims, strict=True)):
        if w == WindowDim(n, stride=w.stride):
            folded.append(d)
        elif w != WindowDim(1):
            return None
    total = reduce(x, y, dimensions=tuple(folded), to_apply=f)
    return reshape(total, shape=root.shape)


_ONE = reduce_window(x, y, window=p, to_apply=f)

# fmt: off
RULES = (
    Rule(reduce_window(x, y, window=p, to_apply=f), broadcast(y, ()),
         where=is_empty(x) & is_neutral(y, f) & static,
         xla="reduce-window of nothing => broadcast of the initial value"),
    Rule(_ONE, x, where=is_trivial(p) & is_neutral(y, f) & static,
         xla="reduce-window of windows of one element => A"),
    Rule(_ONE, x, where=is_trivial(p) & is_neutral_but_for_zeros(y, f) & static, promise=ZERO_SIGN,
         xla="reduce-window of windows of one element => A", name="sum of windows of one element"),
    Rule(_ONE, window_of_one, where=is_neutral(y, f) & static, name="window_of_one",
         xla="reduce-window of windows of one element => slice", doc=window_of_one.__doc__ or ""),
    Rule(_ONE, window_of_one, where=is_neutral_but_for_zeros(y, f) & static, promise=ZERO_SIGN,
         xla="reduce-window of windows of one element => slice", name="sum_of_window_of_one"),
    window_over_pad,
    window_of_everything,
)
# fmt: on
