"""Cuts of arrays that are reshaped.

    f32[8,12] cut into 4 x 1    =>  f32[96] cut into 4
    f32[8,6] cut into 8 x 2     =>  f32[48] cut into 16     but 4 x 2 makes no blocks of f32[48]

Elements keep their row-major order. So a block of rows is a run of elements, and stays one; and
blocks of it are runs again, if the dimension before is cut into single rows.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from optimizer.partitioning.cuts import ArrayCut, CutAxis, combined, split

if TYPE_CHECKING:
    from collections.abc import Sequence


def reshaped(cut: ArrayCut, before: Sequence[int], after: Sequence[int]) -> ArrayCut:
    """The cut of a reshaped array, as far as blocks stay blocks.

    Parameters
    ----------
    before, after : the dimensions.
    """
    # Axes by the number of runs that the array is cut into before they cut these.
    axes: dict[int, CutAxis | None] = {}
    dims: list[CutAxis | None] = [None] * len(after)
    for d, axis in enumerate(cut.dims):
        outside = prod(before[:d])
        if axis and before[d] % axis.count == 0:
            axes[outside] = axis
        elif axis:
            same = (e for e, n in enumerate(after) if n == before[d] and prod(after[:e]) == outside)
            if (e := next(same, None)) is not None:
                dims[e] = axis
    for e, size in enumerate(after):
        runs = outside = prod(after[:e])
        while (room := outside * size // runs) > 1 and (axis := axes.pop(runs, None)):
            if axis.count % room == 0:
                axis, axes[runs * room] = split(axis, axis.count // room)
            if axis is None or room % axis.count:
                break
            dims[e] = combined(dims[e], axis)
            runs *= axis.count
    return ArrayCut(tuple(dims), cut.manual)


def common(cut: ArrayCut, before: Sequence[int], after: Sequence[int]) -> tuple[ArrayCut, ArrayCut]:
    """The cuts before and after a reshape that follow from one before, and have the same blocks."""
    there = reshaped(cut, before, after)
    return reshaped(there, after, before), there
