"""The choice of tiles for a product: large ones read less, but there may be too few of them.

A large GPU has some hundred multiprocessors, all of which are to have a block. Where tiles of any
size are too few, the contraction is *split*: blocks add up parts of a sum, and a second launch adds
these up, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_cuda.kernels.products import Product

# Multiprocessors that are to have blocks: an H100 has 132.
MULTIPROCESSORS = 132
# Parts of a sum that are tried, and the least depth of one.
SPLITS, LEAST_DEPTH = (1, 2, 4, 8, 16, 32), 256
# Seconds: of a further launch, and of a byte of operands or of partial sums.
LAUNCH, BYTE = 3e-6, 1 / 3e12
# Threads along each side of a block whose threads have sums of their own.
SIDE = 16


@dataclass(frozen=True, slots=True)
class TileSize:
    """The size of a block's tile.

    Attributes
    ----------
    rows, columns : of the tile.
    rate : products a second of a multiprocessor with such tiles, about, in 10^9.
    """

    rows: int
    columns: int
    rate: float


@dataclass(frozen=True, slots=True)
class WarpSize(TileSize):
    """The size of tiles on tensor cores, and of the part of each warp.

    Attributes
    ----------
    deep_bytes : how far a tile reaches along the contraction.
    warp_rows, warp_columns : of a warp's part.
    buffers : tiles of each operand in shared memory.
    together : four warps multiply whole tiles, as `multiply_tiles_bf16` of the prelude does.
    behind : products of tiles that they still compute while the next ones begin.
    """

    deep_bytes: int
    warp_rows: int
    warp_columns: int
    buffers: int
    together: bool = False
    behind: int = 0

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory."""
        return self.buffers * (self.rows + self.columns) * self.deep_bytes

    @property
    def warps(self) -> tuple[int, int]:
        """Warps along the rows, and along the columns."""
        return self.rows // self.warp_rows, self.columns // self.warp_columns


SIZES = (
    TileSize(8 * SIDE, 8 * SIDE, 174),
    TileSize(8 * SIDE, 4 * SIDE, 150),
    TileSize(4 * SIDE, 4 * SIDE, 120),
    TileSize(SIDE, SIDE, 26),
)
WARP_SIZES = (
    WarpSize(128, 256, 2500, 128, 64, 64, 4, together=True, behind=1),
    WarpSize(128, 128, 2160, 128, 64, 64, 3, together=True),
    WarpSize(128, 128, 1700, 64, 64, 64, 4),
    WarpSize(64, 64, 1100, 64, 32, 32, 4),
    # Of few rows or columns: the other operand's bytes take the time.
    WarpSize(16, 128, 300, 128, 16, 32, 4),
    WarpSize(128, 16, 300, 128, 32, 16, 4),
)
# Of tiles that wait in registers, which a thread can't have many of.
WAITING = WarpSize(64, 64, 400, 64, 32, 32, 2)

Size = TypeVar("Size", bound=TileSize)


def best(product: Product, sizes: Sequence[Size], sum_bytes: int) -> tuple[Size, int]:
    """The tiles with which a product takes the least time, and the parts of each sum.

    Parameters
    ----------
    sum_bytes : of a sum.
    """
    plans = [
        (size, parts)
        for size in sizes
        for parts in SPLITS
        if parts == 1
        or (product.depth >= parts * LEAST_DEPTH and _tiles(product, size) < MULTIPROCESSORS)
    ]
    return min(plans, key=lambda plan: _seconds(product, *plan, sum_bytes))


def _tiles(product: Product, size: TileSize) -> int:
    down, across = -(-product.rows // size.rows), -(-product.columns // size.columns)
    return product.batch * down * across


def _seconds(product: Product, size: TileSize, parts: int, sum_bytes: int) -> float:
    """The time of a product, about, in which each multiprocessor computes a block at a time."""
    turns = -(-_tiles(product, size) * parts // MULTIPROCESSORS)
    depth = -(-product.depth // parts)
    seconds = turns * size.rows * size.columns * depth / (size.rate * 1e9)
    if parts > 1:
        partial = product.batch * product.rows * product.columns * parts
        seconds += LAUNCH + 2 * partial * sum_bytes * BYTE
    return seconds
