"""Rules whose left side is a pad, which may also space elements and, where negative, crop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.values import PaddingDim, SliceDim
from optimizer.dimensions import is_empty, static
from optimizer.rewriting.guard import guard
from optimizer.rewriting.pattern import broadcast, p, pad, q, slice_, x, y
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction

Padding = tuple[PaddingDim, ...]


@guard
def pads_nothing(p: Padding, x: Instruction) -> bool:
    """No element is added or taken away."""
    return all(
        e.low == e.high == 0 and (e.interior == 0 or n <= 1)
        for e, n in zip(p, x.shape.dims, strict=True)
    )


@rule(
    pad(x, y, p),
    where=static,
    xla='HandlePad, "Eliminate negative padding": pad that crops => slice(pad(A))',
)
def pad_that_crops(
    x: Instruction, y: Instruction, p: Padding, root: Instruction
) -> Instruction | None:
    """Crop by a slice, which more rules understand, and pad first where that is needed too."""
    if all(e.low >= 0 and e.high >= 0 for e in p):
        return None
    grown = tuple(PaddingDim(max(e.low, 0), max(e.high, 0), e.interior) for e in p)
    ranges = [
        SliceDim(start := max(-e.low, 0), start + n)
        for e, n in zip(p, root.shape.dims, strict=True)
    ]
    whole = all(e == PaddingDim(0, 0) for e in grown)
    return slice_(x if whole else pad(x, y, grown), tuple(ranges))


@rule(pad(pad(x, y, p), y, q), where=static, xla="HandlePad: pad(pad(A)) => pad(A)")
def pad_of_pad(x: Instruction, y: Instruction, p: Padding, q: Padding) -> Instruction | None:
    """Both add the same value; the outer may only space out dimensions that the inner keeps."""
    both = list(zip(p, q, strict=True))
    if any(min(e.low, e.high) < 0 for pair in both for e in pair) or any(e.interior for e in q):
        return None
    return pad(x, y, tuple(PaddingDim(e.low + f.low, e.high + f.high, e.interior) for e, f in both))


# fmt: off
RULES = (
    Rule(pad(x, y, p), x, where=pads_nothing(p, x) & static, xla="pad with nothing => A"),
    Rule(pad(x, y), broadcast(y, ()), where=is_empty(x) & static,
         xla="pad of nothing => broadcast"),
    Rule(pad(broadcast(y, ()), y), broadcast(y, ()), where=static,
         xla="pad(broadcast(A), A) => broadcast(A)"),
    pad_that_crops,
    pad_of_pad,
)
# fmt: on
