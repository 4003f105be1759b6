"""Products of matrices: the choice of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.opcodes.matrix_products import PRODUCTS
from emit_cuda.grids.narrow_tiles import NarrowTiles
from emit_cuda.grids.stages import MOST_IN_TURNS
from emit_cuda.grids.tensor_cores import TensorCores, fits
from emit_cuda.grids.thread_tiles import ThreadTiles
from emit_cuda.grids.tile_sizes import SIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Name
    from codegen.opcodes.matrix_products import Product
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from emit_cuda.grids.tiles import Tiles
    from hlo.instruction import Instruction

# Smaller products, if not for tensor cores, are left to a thread for each element.
LEAST = 8
# So are those of a quarter of the smallest tile, no deeper than it: most of its threads would have
# no sum. By the rates of `tile_sizes` 200,000 products of 8 x 8 take 119 us in tiles; loops read
# from the first cache in 28 us what takes 37 us from memory.
FEWEST = SIDE * SIDE // 4
# Inside of a loop larger ones are, too. A block takes about two cycles for 32 products, as both
# factors are loaded: 5 us for so many, which is the time of the four launches of a recurrence.
MOST_REPEATED = 1 << 17


def gemm_stages(
    kernel: CudaKernel, dot: Instruction, outputs: Sequence[Name], root: Instruction | None = None
) -> Sequence[Stage] | None:
    """Launches that compute a product in tiles; None where it is too small for that.

    Parameters
    ----------
    dot : a dot product or a convolution.
    root : an elementwise function of the product, which is stored in its place.
    """
    product = PRODUCTS[dot.opcode](kernel.body, dot)
    if product.type.kind == "pred" or 0 in (product.batch, product.depth):
        return None
    sums = product.rows * product.columns
    results = product.batch * sums
    few = results <= MOST_IN_TURNS and results * product.depth <= MOST_REPEATED
    if (kernel.repeats and few) or (sums <= FEWEST and product.depth <= SIDE):
        return None
    kind = "product" if dot.opcode == "dot" else "convolution"
    writer = _writer(kernel, product, root or dot)
    return writer and writer.launches(outputs[0], kind)


def _writer(kernel: CudaKernel, product: Product, root: Instruction) -> Tiles | None:
    """The way of multiplying tiles that suits a product, if any does."""
    if fits(product):
        return TensorCores(kernel, product, root)
    narrow = NarrowTiles(kernel, product, root)
    if narrow.fits():
        return narrow
    enough = min(product.rows, product.columns, product.depth) >= LEAST
    return ThreadTiles(kernel, product, root) if enough else None
