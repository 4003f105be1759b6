"""The choice of tiles for a product: large ones read less, but there may be too few of them.

A large GPU has some hundred multiprocessors, all of which are to have a block. Where tiles of any
size are too few, the contraction is *split*: blocks add up parts of a sum, and a second launch adds
these up, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from optimizer.gpu.device import H100

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.opcodes.matrix_products import Product

# Multiprocessors that are to have blocks.
MULTIPROCESSORS = H100.multiprocessors
# Parts of a sum that are tried, and the least depth of one.
SPLITS = (*range(1, 9), 10, 12, 14, 16, 20, 24, 28, 32, 33, 44, 66, 132)
LEAST_DEPTH = 256
# Seconds: of a further launch, of a byte of operands, and of one of partial sums.
LAUNCH, OPERAND_BYTE, BYTE = 3e-6, 1 / 4e12, 1 / 3e12
# Threads along each side of a block whose threads have sums of their own.
SIDE = 16


@dataclass(frozen=True, slots=True)
class TileSize:
    """The size of a block's tile.

    Attributes
    ----------
    rows, columns : of the tile.
    rate : products a second of a multiprocessor with such tiles, about, in 10^9.
    idle : seconds of a tile in which it multiplies nothing, as its first operands come and its sums
        go; fewer, if it has several tiles at once.
    depth : elements of the contraction that a tile of an operand has, where threads have sums. Many
        in small tiles: their threads wait for the next ones longer than they multiply.
    """

    rows: int
    columns: int
    rate: float
    idle: float = 0
    depth: int = field(default=16, kw_only=True)


@dataclass(frozen=True, slots=True)
class WarpSize(TileSize):
    """The size of tiles on tensor cores, and of the tile of each warp.

    Attributes
    ----------
    depth_bytes : how far a tile reaches along the contraction.
    warp_rows, warp_columns : of a warp's tile.
    buffers : tiles of each operand in shared memory.
    in_warpgroups : four warps multiply whole tiles, as `multiply_tiles_bf16` of the prelude does.
    in_flight : products of tiles that they still compute while the next ones begin.
    in_memory : only matrices that lie in memory have it, not the windows of a convolution.
    """

    depth_bytes: int = 64
    warp_rows: int = 32
    warp_columns: int = 32
    buffers: int = 4
    in_warpgroups: bool = False
    in_flight: int = 0
    in_memory: bool = False

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory."""
        return self.buffers * (self.rows + self.columns) * self.depth_bytes

    @property
    def warps(self) -> tuple[int, int]:
        """Warps along the rows, and along the columns."""
        return self.rows // self.warp_rows, self.columns // self.warp_columns


# Measured on an H200 with products of 256, 1000 and 4096 cubed.
SIZES = (
    TileSize(8 * SIDE, 8 * SIDE, 174),
    TileSize(8 * SIDE, 4 * SIDE, 150),
    TileSize(4 * SIDE, 4 * SIDE, 115, depth=32),
    TileSize(4 * SIDE, 2 * SIDE, 85, depth=32),
    TileSize(8 * SIDE, SIDE, 60),
    TileSize(SIDE, 8 * SIDE, 50, depth=32),
    TileSize(2 * SIDE, 2 * SIDE, 80, depth=32),
    TileSize(SIDE, 2 * SIDE, 34, depth=64),
    TileSize(SIDE, SIDE, 25, depth=64),
)
# Measured on an H200 with products of 4096 cubed, of 512 x 64 by 64 x 512, and of 1024 x 1024 by
# 1024 x 64. A convolution has addresses to compute: there, more blocks at once are faster.
WARP_SIZES = (
    WarpSize(128, 256, 2800, 4e-6, 128, 64, 64, 4, in_warpgroups=True, in_flight=1),
    WarpSize(128, 128, 2240, 1.2e-6, 128, 64, 64, 3, in_warpgroups=True),
    WarpSize(128, 128, 1700, 1.2e-6, 64, 64, 64, 4),
    WarpSize(128, 64, 1900, 8e-7, 128, 32, 64, 2, in_memory=True),
    WarpSize(128, 64, 1160, 8e-7, 64, 32, 64, 4),
    WarpSize(64, 64, 1100, 5e-7, 64, 32, 32, 4),
    # Of few rows or columns.
    WarpSize(16, 128, 400, 5e-7, 128, 16, 32, 4),
    WarpSize(128, 16, 400, 5e-7, 128, 32, 16, 4),
)
# Of tiles that wait in registers, which a thread can't have many of.
WAITING = WarpSize(64, 64, 400, 5e-7, 64, 32, 32, 2)

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
    read = OPERAND_BYTE * sum(o.shape.unpacked_bytes for o in product.dot.operands[:2])

    def cost(plan: tuple[Size, int]) -> tuple[float, float]:
        """The time, which is no shorter than that of the operands' bytes; then the time without."""
        seconds = _seconds(product, *plan, sum_bytes)
        return max(seconds, read), seconds

    return min(plans, key=cost)


def _tiles(product: Product, size: TileSize) -> int:
    down, across = -(-product.rows // size.rows), -(-product.columns // size.columns)
    return product.batch * down * across


def _seconds(product: Product, size: TileSize, parts: int, sum_bytes: int) -> float:
    """The time of a product, about, in which each multiprocessor computes a block at a time."""
    waves = -(-_tiles(product, size) * parts // MULTIPROCESSORS)
    depth = -(-product.depth // parts)
    seconds = waves * (size.rows * size.columns * depth / (size.rate * 1e9) + size.idle)
    if parts > 1:
        partial = product.batch * product.rows * product.columns * parts
        seconds += LAUNCH + 2 * partial * sum_bytes * BYTE
    return seconds
