"""Tiles: blocks of an array that lie together in an accelerator's memory.

`f32[5,300]{1,0:T(8,128)}` is padded to 8 rows of 384 columns and cut into tiles of 8 rows and 128
columns, which lie in memory one after the other, each row by row. A second tile cuts each tile of
the first one anew. So an array has room in memory for more than its elements, and a bitcast, which
reads the same memory under another shape, may see more or fewer elements.

Source: XLA's "Tiled layout" page.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hlo.types.shape import Shape

_COMBINED = -1
# NumPy's arrays have no more dimensions, and each tile adds some.
_MOST_DIMENSIONS = 64


class TileStep(NamedTuple):
    """One tile of a layout: how its elements move, by four plain steps.

    Attributes
    ----------
    dims : of the array before, with dimensions of size 1 in front where the tile has more
        dimensions, and with those joined that the tile combines.
    padded : to which `dims` are padded at their ends.
    split : each tiled dimension cut into the tiles along it and their size.
    order : the transposition that brings the sizes of the tiles to the end.
    """

    dims: tuple[int, ...]
    padded: tuple[int, ...]
    split: tuple[int, ...]
    order: tuple[int, ...]


def tilings(shape: Shape) -> list[TileStep]:
    """The steps of each tile of a layout, for an array transposed to the order of memory."""
    dims = tuple(shape.dims[d] for d in shape.memory_order)
    steps: list[TileStep] = []
    for tile in shape.layout.tiles if shape.layout else ():
        dims = (1,) * (len(tile) - len(dims)) + dims
        sizes = tuple(n for n in tile if n != _COMBINED)
        outer, tiled = dims[: len(dims) - len(tile)], dims[len(dims) - len(tile) :]
        joined, run = list[int](), 1
        for size, dim in zip(tile, tiled, strict=True):
            run *= dim
            if size != _COMBINED:
                joined.append(run)
                run = 1
        counts = tuple(-(-dim // size) for dim, size in zip(joined, sizes, strict=True))
        whole = tuple(n * size for n, size in zip(counts, sizes, strict=True))
        split = (*outer, *chain(*zip(counts, sizes, strict=True)))
        front = len(outer)
        order = (*range(front), *range(front, len(split), 2), *range(front + 1, len(split), 2))
        steps.append(TileStep((*outer, *joined), (*outer, *whole), split, order))
        dims = tuple(split[i] for i in order)
    return steps


def filled_elements(shape: Shape) -> int:
    """The number of elements for which an array has room in memory, the padding of tiles too."""
    steps = tilings(shape)
    return prod(steps[-1].split) if steps else shape.size


def fill_same_memory(one: Shape, other: Shape) -> bool:
    """Whether tiles decide which elements a bitcast reads: both arrays fill the same memory so.

    Where only one has tiles, as in modules that change their backend, they say nothing.
    """
    ranks = [
        shape.rank + sum(map(len, shape.layout.tiles))
        for shape in (one, other)
        if shape.layout and shape.layout.tiles
    ]
    if len(ranks) < 2 or max(ranks) > _MOST_DIMENSIONS or one.is_dynamic or other.is_dynamic:
        return False
    return (
        filled_elements(one) * one.element_type.bits
        == filled_elements(other) * other.element_type.bits
    )
