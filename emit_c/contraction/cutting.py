"""The cutting of a contraction's outputs into register tiles, in numbers.

Where a dimension is no multiple of a tile, the last tile begins earlier, and what it shares with
the one before is computed twice, to the same bits. So all tiles of a contraction are the same
function. Only tiles that add to the output must not meet: there the last one is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.code import processor
from emit_c.contraction.dims import WRITTEN_STEPS, ContractedDim, Dim, best_tile
from emit_c.contraction.tiles import Tile, has_offset, rows_for
from emit_c.contraction.whole_tiles import NUMBERS, ROWS, VECTORS, are_whole, rows_of_whole
from hlo.support import machine
from optimizer.analysis.indexing import Sum, linear
from optimizer.dimensions import largest_divisor
from optimizer.loops.operand_packing import FEW_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index

PANEL = 4 * machine.LANES
"""Chosen: columns of a panel, at most: tiles read its rows one after the other, as packed ones."""
MOST_PANELS, LEAST_PANELS = 2, 8
"""Measured: panels that are packed together, to be read in longer runs; and iterations of a batch
from which on one after the other is packed. With 1 panel, products take up to 1.08 times as long.
With 8, fewer steps of the contraction fit the cache, so that sums are written more often: 1000
cubed takes 1.16 times as long. If a batch is packed as a whole, `dot of a batch` takes 1.07 times
as long."""
ROW_BLOCKS, ROWS_OF_A_BLOCK = 2, 256
"""Measured: blocks of rows for which the right side of a product is packed anew, and rows in one at
least. With 1 block, each thread reads all rows of the left side: if threads share no cache, 512 to
2048 cubed then take 1.05 to 1.16 times as long. Packing twice takes 1 % of the time."""
FETCHED_APART = machine.L1_WAY // 4
"""Measured: bytes from row to row of a matrix that lies in place, from which on a tile asks for its
numbers ahead. Processors foresee next lines of a page, no steps of pages. With 512 bytes, products
take as long."""
MANY_PRODUCTS = 1 << 18
"""Measured: products of a contraction that is worth a tile compiled for the distance between its
rows, where tiles move several pointers after few products: if rows have one vector, or the
innermost loop is shorter than a block of lanes. Without such tiles a convolution in 32 groups takes
1.18 times as long, and a product of 100 cubed 1.11 times; of others none takes less with them."""
FEW_PRODUCTS, SHARED_ROWS, SHARED_LOOPS = 1 << 17, (8, 4, 2, 1), 3
"""Measured: smaller contractions share tiles of these numbers of rows and loops. With tiles of
their own six programs take 0.98 to 1.04 of the time, but the gradient of the CTC loss takes twice
as long to compile."""


@dataclass(frozen=True, slots=True)
class KernelPart:
    """A part of the kernel: which panel, block of features and chunk of the steps."""

    panel: Index
    block: Sum
    chunk: Sum


@dataclass(frozen=True, slots=True)
class TileRun:
    """Tiles that one call makes: how many, and from one to the next in input, kernel and output."""

    tiles: int
    input: int
    kernel: int
    output: int


class Cutting:
    """The cutting of an output into tiles.

    Parameters
    ----------
    dims : of the output; those of size 1 do not matter.
    steps : of the contraction, outermost first.
    kind : the type in which products are summed up.
    exact : if given, sums of so many products are exact in that type; longer ones are added up in
        the output.
    stride : if given, the kernel lies in memory as [panels, steps, features], with so many of them.
    signs : as of `Tile`.
    written : whether threads have just written the input, each some of its rows.

    Attributes
    ----------
    lane, row : the dimensions that make up a tile.
    products : of all outputs.
    share : of a processor's lanes that is used.
    cached : whether the packed kernel stays in the cache while all positions are gone through. If
        so, it needs memory for `packed_size` numbers, and positions are outermost; else panels of
        it are.
    in_place : whether the kernel is not packed, but read where it is.
    has_few_rows : whether a kernel in place is read by few rows; then threads share its columns.
    row_blocks : blocks of rows for which the kernel is packed anew.
    in_chunks : whether few rows read a kernel in place by chunks of the steps.
    chunks : the outermost steps are taken in so many parts; if more than one, tiles add to what the
        output holds already. Only those of a kernel in place may be of different sizes.
    """

    def __init__(
        self,
        dims: Sequence[Dim],
        steps: Sequence[ContractedDim],
        kind: ElementType,
        exact: int | None = None,
        stride: int | None = None,
        signs: str = "",
        *,
        written: bool = True,
    ) -> None:
        self.kind, self.steps, self.exact = kind, tuple(steps) or (ContractedDim(1, 0),), exact
        self.stride, self.signs = stride, signs
        self.caches = processor.here().caches
        dims = [d for d in dims if d.size != 1] or [Dim(1, 0, 1, 1)]
        self.depth = prod(s.size for s in self.steps)
        self.share, self.lane, self.row, (self.vectors, self.lanes) = best_tile(
            dims, kind, self.depth
        )
        if are_whole(signs):
            self.vectors = min(VECTORS, -(-self.lane.size // NUMBERS))
        self.width = self.vectors * self.lanes
        self.products = self.depth * prod(d.size for d in dims)
        self.rows = self._rows()
        outer = [d for d in dims if d not in (self.lane, self.row)]
        self.panels = [d for d in outer if d.feature]
        self.positions = [d for d in outer if not d.feature]
        # The dimension along which the kernel is packed, and numbers that lie side by side then.
        self.packed = next((d for d in (self.lane, self.row) if d.feature), Dim(1, 0, 0))
        self.side = {self.lane: self.width, self.row: self.rows}.get(self.packed, 1)
        self.blocks = -(-self.packed.size // self.side)
        whole = prod(d.size for d in self.panels) * self.blocks * self.depth * self.side
        self.cached = whole * kind.bytes <= self.caches.kept or self.packed is not self.lane
        few = not self.positions and self.row.size <= FEW_ROWS
        few &= self.products >= MANY_PRODUCTS
        near = self.cached or (few and self.lane.size <= PANEL)
        self.in_place = near and self._is_in_place()
        self.in_chunks = few and not self.in_place and self._is_read_in_chunks()
        self.in_place |= self.in_chunks
        self.cached |= self.in_place
        self.has_few_rows = few and self.in_place
        batch = self._batch
        if batch >= LEAST_PANELS and not self.in_place and self.packed is self.lane:
            self.cached = False
        self.packed_size = whole if self.cached and not self.in_place else 0
        iterations = self.blocks * batch // LEAST_PANELS
        panels = min(iterations, MOST_PANELS)
        self.group = 1 if self.cached else largest_divisor(self.blocks, panels)
        first = self.steps[0].size
        self.chunk = self._outermost_steps(exact or self.depth)
        self.chunks = -(-first // self.chunk) if first else 1
        many = self.row.size >= ROW_BLOCKS * ROWS_OF_A_BLOCK
        apart = self.chunks == 1 and batch == 1 and not self.positions and not self.cached
        self.row_blocks = ROW_BLOCKS if written and many and apart else 1

    def _rows(self) -> int:
        """The rows of a tile."""
        together = self.caches.rows(self.row.input * self.kind.bytes)
        spared = has_offset(self.signs)
        rows = rows_for(self.row.size, self.vectors, together, spared=spared)
        if are_whole(self.signs):
            rows = rows_of_whole(self.row.size)
        if self.products < FEW_PRODUCTS:
            rows = next(n for n in SHARED_ROWS if n <= rows)
        return rows

    @property
    def _from_row_to_row(self) -> int:
        """Bytes from row to row of the kernel, where it lies in memory."""
        return (self.stride or 0) * self.kind.bytes

    @property
    def _batch(self) -> int:
        """The number of contractions in this batch, whose inputs and kernels lie apart."""
        return prod(d.size for d in self.panels if d.input > self.row.input)

    def _is_in_place(self) -> bool:
        """Whether vectors of the kernel are whole, and as fast to read as from a packed copy.

        Rows that are less than a page apart are. Of rows that are farther apart, each is in a page
        of its own, and many share the few sets of the first-level cache.
        """
        whole = self.lane.size % self.width == 0
        whole |= self.exact is None and self.lane.size >= self.width
        return self._is_side_by_side and whole and self._from_row_to_row < machine.L1_WAY

    @property
    def _is_side_by_side(self) -> bool:
        """Whether the kernel's rows lie in memory as tiles read them."""
        # From one of a batch to the next it is the stride, which may be 1 as well.
        return self.lane.feature == 1 < (self.stride or 0)

    def _is_read_in_chunks(self) -> bool:
        """Whether few rows are multiplied by a chunk of the kernel's rows after the other.

        A tile that takes all steps reads a column, from as many pages as the kernel has rows, and
        from few sets of each cache; it waits for most, and the next tile finds nothing there. Of a
        chunk, all tiles beside each other are made first, which read along its rows.
        """
        whole = self.exact is None and self.lane.size >= self.width and self.lane.output == 1
        return self._is_side_by_side and whole and len(_joined(self.steps)) == 1

    def _outermost_steps(self, most: int) -> int:
        """The number of outermost steps that are taken at once, for at most so many products.

        As many as keep the packed panels in the cache; but if those are few, because the number of
        steps has no suitable divisor, then as many as there may be.
        """
        first = self.steps[0].size
        if self.depth == 0:
            return first
        rest = self.depth // first
        if self.in_chunks:
            # Half of the first-level cache; neighbours are on their way to the other one.
            fitting = max(1, self.caches.first.bytes // 2 // (self.width * self.kind.bytes) // rest)
            return -(-first // -(-first // fitting))
        if not self.cached:
            panels = self.group * self.side * self.kind.bytes
            chunk = largest_divisor(first, min(most, self.caches.kept // panels) // rest)
            if chunk * rest >= WRITTEN_STEPS:
                return chunk
        return largest_divisor(first, most // rest)

    @property
    def fits_whole_tiles(self) -> bool:
        """Whether tiles are such as registers hold whole, with no step or row of these unused."""
        tile, (_, size, row_step, *_) = self._walk(self.rows, self.chunk)
        lanes = self.lanes == NUMBERS and self.row.size >= ROWS
        steps = tile.loops == 1 and size % NUMBERS == 0 and row_step == 1
        return lanes and steps

    @property
    def reads_behind(self) -> bool:
        """Whether tiles read after the input's last number, in lanes that are not used."""
        return self.lane.input != 0 and not self._is_covered(self.lane, self.width)

    def _is_covered(self, dim: Dim, side: int) -> bool:
        """Whether tiles of one size cover a dimension, and nothing else."""
        meet = self.chunks == 1 or (self.in_chunks and dim is self.lane)
        return dim.size % side == 0 or (meet and dim.size >= side)

    @property
    def _chunk_size(self) -> int:
        """Numbers that a packed block has for one chunk of the steps."""
        return self.depth // max(1, self.chunks) * self.side

    @property
    def _from_panel_to_panel(self) -> int:
        """Numbers of the kernel from one of the innermost panels to the next."""
        if self.in_place:
            return self._apart_in_place(self.panels[-1])
        return self.blocks * self.depth * self.side

    def _apart_in_place(self, panel: Dim) -> int:
        """Numbers from a panel to the next one, in a kernel that is read where it is."""
        assert self.stride is not None
        return panel.feature * (self.depth if panel.feature >= self.stride else 1)

    def _is_stored_by_tiles(self, target: ElementType) -> bool:
        """Whether outputs lie side by side, and have the type in which products are summed up."""
        return self.lane.output == 1 and target is self.kind

    @property
    def _rows_of_the_kernel(self) -> bool:
        """Whether it is the kernel of which each row has a number of its own."""
        return self.row.feature != 0 and self.row.input == 0

    def _walk(self, rows: int, taken: int) -> tuple[Tile, tuple[int, ...]]:
        """The tile, and the step from row to row; of each loop the size, and both steps.

        Parameters
        ----------
        taken : of the outermost steps.
        """
        kernel_step = self.stride if self.in_place and self.stride else self.side
        loops: list[tuple[int, int, int]] = []
        moved = 0  # by the loops inside
        for size, step in reversed(
            _joined((ContractedDim(taken, self.steps[0].input), *self.steps[1:]))
        ):
            # The kernel lies in the order in which it is read.
            loops.insert(0, (size, step - moved, 0 if loops else kernel_step))
            moved = size * step
        loops = loops or [(1, 0, 0)]
        if self.products < FEW_PRODUCTS:
            loops = [(1, 0, 0)] * (SHARED_LOOPS - len(loops)) + loops
        is_far = self.in_place and kernel_step * self.kind.bytes >= FETCHED_APART
        vector = "q" if self.in_chunks else "p" if is_far else "v"
        lanes = "v" if self.lane.input == 1 else "n", vector if self.lane.feature else "n"
        row = self.row.input
        if self._rows_of_the_kernel:
            lanes, row = ("r", lanes[0]), 1
            loops = [(size, kernel, step) for size, step, kernel in loops]
        elif self.row.feature:
            lanes = lanes[0], "r"
        pressed = self.vectors == 1 or loops[-1][0] < machine.BLOCK_OF_LANES
        known = pressed and self.products >= MANY_PRODUCTS and lanes[0] == "n"
        apart = row if known else None
        sizes = rows, self.vectors, self.lanes
        tile = Tile(*lanes, *sizes, len(loops), self.kind, apart, self.signs)
        return tile, (row, *(n for loop in loops for n in loop))

    def _run(self, tiles: int, apart: int) -> TileRun:
        """Tiles beside each other, of blocks so many numbers apart."""
        apart = apart if self.lane is self.packed else 0
        return TileRun(tiles, self.width * self.lane.input, apart, self.width)

    def _begin(self, panel: Index, block: Sum) -> Sum:
        """The offset of a block in a kernel that is packed as a whole."""
        sizes = (*(d.size for d in self.panels), self.blocks)
        return linear((*panel, block), sizes) * (self.depth * self.side)

    def _begin_in_place(self, lane: Sum, part: KernelPart) -> Sum:
        """The offset in a kernel that is not packed, of the vectors from a lane on."""
        assert self.stride is not None
        begin = lane + part.chunk * (self.chunk * self.depth // self.steps[0].size) * self.stride
        for here, d in zip(part.panel, self.panels, strict=True):
            begin = begin + here * self._apart_in_place(d)
        return begin

    def packed_numbers(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """A kernel packed as a whole.

        Parameters
        ----------
        numbers : shape (features, depth).
        """
        panels = [np.arange(d.size) * d.feature for d in self.panels]
        begin = np.arange(self.blocks) * self.side
        if self._is_covered(self.packed, self.side):
            begin = np.minimum(begin, self.packed.size - self.side)
        along = (begin[:, None] + np.arange(self.side)).reshape(-1)
        inside = along < self.packed.size
        features: Any = sum(np.ix_(*panels, along * inside * self.packed.feature))
        chosen: Any = np.where(inside[:, None], numbers[features], numbers.dtype.type(0))
        chosen = chosen.reshape(-1, self.blocks, self.side, self.depth)
        return np.ascontiguousarray(chosen.swapaxes(-1, -2))


def _joined(steps: Sequence[ContractedDim]) -> tuple[tuple[int, int], ...]:
    """Sizes and steps of loops, those joined through which one loop leads."""
    pairs: list[tuple[int, int]] = []
    for step in steps:
        if pairs and pairs[-1][1] == step.input * step.size:
            pairs[-1] = (pairs[-1][0] * step.size, step.input)
        elif step.size != 1:
            pairs.append((step.size, step.input))
    return tuple(pairs)
