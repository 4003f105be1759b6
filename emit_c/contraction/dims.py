"""The dimensions of a contraction, and which of them make up a tile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from emit_c.code import processor
from emit_c.contraction.tiles import rows_for, shapes_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.types.element_type import ElementType

BUSY = 5 * 2
"""A fact: independent sums that keep a core's multipliers busy. In a cycle, two vectors are
multiplied and added; the result can be added to after 4 or 5 cycles."""
SCATTERED_SHARE = 0.8
"""Measured: worth of a tile of few products whose lanes are no neighbours in the output. With 1, a
product of 1023 x 7 x 1025 takes 2 times as long."""
WRITTEN_STEPS = 64
"""Measured: products that take as long as to write a tile's sums. With 0 for a number of steps that
has no divisors, 512 x 2053 x 2048 takes 15 times as long. If many did not make up for lanes that
lie apart, a convolution 3 x 3 in the order NCHW would take 1.27 times as long."""


@dataclass(frozen=True, slots=True)
class Dim:
    """A dimension of the output: its size, and steps in the input, the output and the features.

    Features number the kernel's columns; all other dimensions, the positions, share its numbers.
    """

    size: int
    input: int
    output: int
    feature: int = 0


@dataclass(frozen=True, slots=True)
class ContractedDim:
    """A dimension of the contraction: its size, and step in the input."""

    size: int
    input: int


def joined(dims: Sequence[Dim]) -> list[Dim]:
    """Dimensions through which one loop leads, as one."""
    joined_dims: list[Dim] = []
    for dim in sorted((d for d in dims if d.size != 1), key=lambda d: -d.output):
        last, n = joined_dims[-1] if joined_dims else None, dim.size
        steps = (dim.input * n, dim.output * n, dim.feature * n)
        if last and (last.input, last.output, last.feature) == steps:
            joined_dims[-1] = replace(dim, size=last.size * n)
        else:
            joined_dims.append(dim)
    return joined_dims


def best_tile(
    dims: Sequence[Dim], kind: ElementType, depth: int
) -> tuple[float, Dim, Dim, tuple[int, int]]:
    """The share of the processor that the best tile uses, its lane, its row, vectors and lanes.

    Numbers of different lanes must be neighbours in the input, or one number that all share. The
    kernel is packed along lanes or along rows.

    Parameters
    ----------
    depth : products of each sum. Of many, it matters less where sums are written.
    """
    scattered = max(SCATTERED_SHARE, depth / (depth + WRITTEN_STEPS))
    one = Dim(1, 0, 0)
    best = ((0.0, False, 0, 0), dims[0], one, (1, 1))
    for lane in (d for d in dims if d.input <= 1):
        others = [d for d in dims if d is not lane and not (d.feature and lane.feature)]
        for shape, row in product(shapes_for(lane.size, kind), others or [one]):
            share = _share(lane, row, shape, kind)
            share *= 1 if lane.output == 1 else scattered
            # The wider a tile that has all rows, the fewer numbers are loaded for a product.
            wide = shape[0] if rows_for(row.size, shape[0]) == row.size else 0
            score = (round(share, 2), lane.output == 1, -row.input, wide)
            if score > best[0]:
                best = (score, lane, row, shape)
    return best[0][0], *best[1:]


def _share(lane: Dim, row: Dim, shape: tuple[int, int], kind: ElementType) -> float:
    """The share of a processor that a tile uses: of its lanes, and of the time for multiplying.

    It can load as many vectors as it multiplies; two for one that crosses cache lines.
    """
    vectors, lanes = shape
    width, rows = vectors * lanes, rows_for(row.size, vectors)
    used = lanes * kind.bytes / processor.here().vector_bytes
    filled = lane.size / (-(-lane.size // width) * width) * used
    products = vectors * rows
    loads = (rows if row.input else 1) * (2 * vectors if lane.input else 1)
    loads += (rows if row.feature else 1) * (vectors if lane.feature else 1)
    return filled * min(1.0, products / BUSY) * min(1.0, products / loads)
