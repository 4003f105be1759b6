"""Rules whose left side is a convolution.

XLA skips the padding that a window adds itself, where 0 times an infinity would be NaN; whether
it does is left open. So does our interpreter, so that a rule which moves padding into the window
keeps the value only where nothing is infinite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import Convolution
from hlo.types.values import PaddingDim
from interpreter.numbers.compare import FINITE, ROUNDING
from optimizer.dimensions import is_empty, static
from optimizer.rewriting.pattern import a, convolution, pad, q, x, y
from optimizer.rewriting.rule import Rule, rule
from optimizer.rules.reduce_window import padded_window

if TYPE_CHECKING:
    from hlo.instruction import Instruction

Padding = tuple[PaddingDim, ...]


def _spatial(padding: Padding, spatial: tuple[int, ...]) -> Padding | None:
    """The padding of spatial dimensions; None if others are padded."""
    nothing = PaddingDim(0, 0)
    if any(e != nothing for d, e in enumerate(padding) if d not in spatial):
        return None
    return tuple(padding[d] for d in spatial)


@rule(
    convolution(pad(x, 0, q), y).as_(a),
    promise=FINITE,
    where=~is_empty(x) & static,
    xla="FoldConvInputPad: convolution(pad(A, 0), B) => convolution(A, B)",
)
def convolution_of_pad(
    x: Instruction, y: Instruction, a: Instruction, q: Padding
) -> Instruction | None:
    """Let the window pad."""
    attrs = Convolution.of(a)
    padding = _spatial(q, attrs.dim_labels.input_spatial)
    window = padding and padded_window(attrs.window, padding)
    return a.with_(operands=(x, y), attrs=replace(attrs, window=window)) if window else None


@rule(
    convolution(x, pad(y, 0, q)).as_(a),
    promise=ROUNDING,
    where=~is_empty(y) & static,
    xla="FoldConvFilterPad: convolution(A, pad(B, 0)) => convolution(A, B), interior padding",
)
def convolution_by_pad(
    x: Instruction, y: Instruction, a: Instruction, q: Padding
) -> Instruction | None:
    """Zeros between the elements of the kernel are a dilation of the window."""
    attrs = Convolution.of(a)
    padding = _spatial(q, attrs.dim_labels.kernel_spatial)
    if padding is None or any(e.low or e.high for e in padding):
        return None
    sizes = [y.shape.dims[d] for d in attrs.dim_labels.kernel_spatial]
    if any(w.window_dilation > 1 for w in attrs.window):
        return None
    window = tuple(
        replace(w, size=n, window_dilation=1 + e.interior)
        for w, n, e in zip(attrs.window, sizes, padding, strict=True)
    )
    return a.with_(operands=(x, y), attrs=replace(attrs, window=window))


# fmt: off
RULES = (
    Rule(convolution(x, y), 0, where=(is_empty(x) | is_empty(y)) & static,
         xla="convolution of nothing => 0"),
    convolution_of_pad,
    convolution_by_pad,
)
# fmt: on
