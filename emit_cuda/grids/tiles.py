"""Products of matrices in tiles: a block of threads shares its loads of both operands.

Each block computes a tile of the result, from a strip of tiles of the left operand and one of the
right one, which its threads bring into shared memory, tile after tile. While they multiply two
tiles, the next ones are on their way: into registers, and from there to another part of shared
memory (*double buffering*), or past the registers, some tiles ahead. So one barrier a tile is
enough. Elementwise work on the product (the *epilogue*) is done before it is stored. A convolution
is a product of matrices, too: see `codegen.opcodes.matrix_products`.

References
----------
NVIDIA, *CUTLASS: Fast Linear Algebra in CUDA C++*, which explains this hierarchy of tiles.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.types import literal
from codegen.expressions import BLOCK_X, Expr, Literal, Name, at_most, binary, conjoined, item
from codegen.kinds import wide
from codegen.loops.narrow_indices import index_kind
from codegen.opcodes.scalar import arithmetic
from codegen.statements import If, Statement, live
from codegen.walk import spelled_out
from emit_cuda.grids.stages import BARRIER, Stage, each_thread
from emit_cuda.grids.strips import Strip, TileReader
from emit_cuda.loops.packs import Pack
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Sum, counter, delinear, linear

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.opcodes.matrix_products import Product
    from emit_cuda.grids.kernel import CudaKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

    # Writes what is done to a sum, of which it is given the index in the result.
    Visit = Callable[[Index, Expr], None]

# Rows of tiles that blocks with neighbouring numbers compute.
TOGETHER = 8
# Waits for the copies that were begun, but for so many of the last ones.
_WAIT_FOR_COPIES = (
    FUNCTIONS["wait_but_for_0_copies"],
    FUNCTIONS["wait_but_for_1_copies"],
    FUNCTIONS["wait_but_for_2_copies"],
)


class Tiles(TileReader):
    """Writes the kernel of a product; how two tiles are multiplied, its subclasses say.

    Attributes
    ----------
    kind : the type of the sums.
    group : neighbours among a thread's sums.
    buffers, most_shared : tiles of each operand in shared memory, and their bytes at most.
    aligned, resident : as of a `Stage`.
    parts, part_depth : of each sum, which as many blocks add up, and their depth.
    on_tensor_cores : as of a `Stage`.
    in_flight : products of tiles that run while the next ones begin, so that theirs are still read.
    """

    group: int
    buffers: int
    most_shared: int
    aligned: int
    resident: int
    parts: int
    part_depth: int
    in_flight = 0
    on_tensor_cores = False

    def __init__(self, kernel: CudaKernel, product: Product, root: Instruction) -> None:
        super().__init__(kernel, product)
        self.root, self.kind = root, wide(product.type)
        self.index_kind = index_kind((root, product.dot))
        self.buffer: Expr = Literal(0)
        self.strips: list[Strip] = []
        self.choose()

    @abstractmethod
    def choose(self) -> None:
        """Choose the size of tiles."""

    @abstractmethod
    def begin(self) -> None:
        """Declare the sums, which are zero, and say which a thread has."""

    @abstractmethod
    def multiply(self) -> None:
        """Add the products of two tiles."""

    def read_ahead(self, batch: Sum, tile_k: Expr) -> None:
        """Read the elements of the next tiles that a thread keeps for itself."""

    def finish(self) -> None:
        """Bring the sums to where `sum_at` finds them, if they are elsewhere."""

    @property
    @abstractmethod
    def loops(self) -> tuple[str, Sequence[int]]:
        """The loops over a thread's sums, the last one over neighbours: a letter and size each."""

    @abstractmethod
    def sum_at(self, numbers: Index, inner: Sum, width: int) -> tuple[Expr, Expr, Expr]:
        """The row of a sum, its column or the number of a vector of columns, and the sum.

        Parameters
        ----------
        numbers : of all loops but the last.
        inner : of the last one.
        width : the columns of a vector.
        """

    def launches(self, output: Name, kind: str) -> list[Stage]:
        """The launch of a product; of parts of sums, also one that adds them up in their order."""
        if self.parts == 1:
            return [self._tiles_stage(output, kind)]
        size = self.product.dot.shape.size
        partial = self.kernel.room(self.kind, "partial", self.parts * size)
        number = counter("thread", size)
        return [
            self._tiles_stage(partial, kind),
            each_thread("thread", size, self._total(partial, output, number), f"sums of a {kind}"),
        ]

    def _total(self, partial: Name, output: Name, number: Sum) -> tuple[Statement, ...]:
        """Add up the parts of a sum, and apply the epilogue."""
        body, dot, kind = self.body, self.product.dot, self.product.type
        with body.block() as statements:
            total = body.variable(self.kind, "sum", literal(kind, 0))
            with body.loop("part", self.parts) as part:
                more = item(partial, counter(part.name, self.parts) * dot.shape.size + number)
                body.assign(total, arithmetic("add", kind, total, more, wraps=False))
            self._store_whole(output, delinear(number, dot.shape.dims), total)
        return live(statements)

    def _tiles_stage(self, output: Name, kind: str) -> Stage:
        """The launch that stores the product, or parts of its sums."""
        with self.body.block() as statements:
            blocks = self._write(output)
        arrays = [
            (self.tile_kind, strip.array.name, self.buffers * strip.layout.elements)
            for strip in self.strips
        ]
        whole = f"{kind} on tensor cores" if self.on_tensor_cores else kind
        stage = self.kernel.stage(
            statements, blocks, self.threads, whole,
            shared=tuple(arrays), aligned=self.aligned, resident=self.resident,
        )  # fmt: skip
        return replace(stage, on_tensor_cores=self.on_tensor_cores)

    def _write(self, output: Name) -> int:
        """All statements; gives the number of blocks."""
        body, product, kind = self.body, self.product, self.index_kind
        down, across = (
            -(-n // size)
            for n, size in zip((product.rows, product.columns), self.sizes, strict=True)
        )
        block: Expr = BLOCK_X
        batch, blocks = Sum(0), product.batch * down * across
        if self.parts > 1:
            self.part = body.let(kind, "part", block / blocks)
            block = body.let(kind, "block", block % blocks)
        if product.batch > 1:
            name = body.let(kind, "batch", block / (down * across))
            batch = counter(name.name, product.batch)
            block = body.let(kind, "tile", block % (down * across))
        self.tile = self._tile(block, down, across)
        self.begin()
        self.make_strips()
        self._multiply_strips(batch)
        self.finish()
        self.store_all(batch, output)
        return blocks * self.parts

    def _tile(self, block: Expr, down: int, across: int) -> tuple[Name, Name]:
        """The tile that a block computes.

        Blocks that run at once have tiles of a square, so that they read the same operands.
        """
        body, kind = self.body, self.index_kind
        if down % TOGETHER or across <= TOGETHER:
            row, column = block / across, block % across
        else:
            many = TOGETHER * across
            row = block / many * TOGETHER + block % TOGETHER
            column = block % many / TOGETHER
        return body.let(kind, "tile_row", row), body.let(kind, "tile_column", column)

    def make_strips(self) -> None:
        """Decide how the tiles of both operands come into shared memory."""
        self.strips = [Strip(self, side, self.tile[side]) for side in range(2)]
        if not all(strip.copies for strip in self.strips):
            # Measured on an H200, f32 is up to 6 % slower where one operand is copied.
            self.copies = False
            self.strips = [Strip(self, side, self.tile[side]) for side in range(2)]
        elements = sum(strip.layout.elements for strip in self.strips)
        bytes_of = elements * ELEMENT_TYPES[self.tile_kind].bytes
        if self.buffers * bytes_of > self.most_shared or self.product.depth <= self.tile_depth:
            self.buffers = 1
        for strip in self.strips:
            strip.declare()

    def _multiply_strips(self, batch: Sum) -> None:
        """Add up the products of all tiles of a strip, or of a part of it."""
        body, depth = self.body, self.product.depth
        self.begins: Expr = Literal(0)
        self.depth: Expr | int = depth
        if self.parts > 1:
            self.begins = body.let(self.index_kind, "first_k", self.part * self.part_depth)
            self.depth = self.part_depth
            if depth % self.part_depth:
                rest = body.let(self.index_kind, "rest", depth - self.begins)
                self.depth = body.let(self.index_kind, "depth", at_most(rest, self.depth))
        copied = [strip for strip in self.strips if strip.copies]
        others = [strip for strip in self.strips if not strip.copies]
        if self.buffers > 1:
            self._multiply_ahead(batch, copied, others)
            return
        with body.loop("tile_k", self.depth, step=self.tile_depth, kind=self.index_kind) as tile_k:
            self.read_ahead(batch, tile_k)
            at = self.at(tile_k)
            for strip in others:
                strip.fetch(batch, at)
                strip.bring(Literal(0))
            for strip in copied:
                strip.copy(batch, at, Literal(0))
            if copied:
                body.call(FUNCTIONS["end_copies"])
                self.wait_but_for(0)
            body.add(BARRIER)
            self.multiply()
            body.add(BARRIER)

    def split(self, parts: int) -> None:
        """Let so many blocks add up parts of each sum, which are whole tiles."""
        self.part_depth = -(-self.product.depth // (parts * self.tile_depth)) * self.tile_depth
        self.parts = -(-self.product.depth // self.part_depth)

    def at(self, tile_k: Expr) -> Expr:
        """The index along the contraction that is so far after the first one of a block's part."""
        if self.begins == Literal(0):
            return tile_k
        if tile_k == Literal(0):
            return self.begins
        return self.body.let(self.index_kind, "at_k", self.begins + tile_k)

    def _multiply_ahead(self, batch: Sum, copied: Sequence[Strip], others: Sequence[Strip]) -> None:
        """Add up products, while the next tiles are on their way to other parts of memory."""
        body, kind, ahead = self.body, self.index_kind, self.buffers - 1 - self.in_flight
        if copied:
            self._copy_first(batch, copied, ahead)
        for strip in others:
            strip.fetch(batch, self.at(Literal(0)))
        with body.loop("tile_k", self.depth, step=self.tile_depth, kind=kind) as tile_k:
            self.buffer = body.let(kind, "buffer", tile_k / self.tile_depth % self.buffers)
            self.read_ahead(batch, tile_k)
            for strip in others:
                strip.bring(self.buffer)
            if copied:
                self.wait_but_for(ahead - 1)
            body.add(BARRIER)
            if others:
                following = body.let(kind, "next_k", tile_k + self.tile_depth)
                with body.when(binary("<", following, self.depth)):
                    at = self.at(following)
                    for strip in others:
                        strip.fetch(batch, at)
            if copied:
                self._copy_next(batch, copied, tile_k, ahead)
            self.multiply()

    def wait_but_for(self, groups: int) -> None:
        """Wait for copies, but for the last ones."""
        self.body.call(_WAIT_FOR_COPIES[groups])

    def _copy_first(self, batch: Sum, strips: Sequence[Strip], ahead: int) -> None:
        """Begin to copy the first tiles, each of which is waited for on its own."""
        body = self.body
        with body.loops(["n"], [ahead], unroll=True) as (n,):
            tile_k = spelled_out(n * self.tile_depth)
            least = self.product.depth - (self.parts - 1) * self.part_depth
            sure = (ahead - 1) * self.tile_depth < least
            with body.when(None if sure else binary("<", tile_k, self.depth)):
                at = self.at(tile_k)
                for strip in strips:
                    strip.copy(batch, at, spelled_out(n))
            body.call(FUNCTIONS["end_copies"])

    def _copy_next(self, batch: Sum, strips: Sequence[Strip], tile_k: Name, ahead: int) -> None:
        """Begin to copy later tiles, to where all threads have read the last ones."""
        body, kind = self.body, self.index_kind
        later = body.let(kind, "later_k", tile_k + ahead * self.tile_depth)
        with body.when(binary("<", later, self.depth)):
            free = body.let(kind, "free_buffer", later / self.tile_depth % self.buffers)
            at = self.at(later)
            for strip in strips:
                strip.copy(batch, at, free)
        body.call(FUNCTIONS["end_copies"])

    def store_all(self, batch: Sum, output: Name) -> None:
        """Store the sums; or compute all of a thread's anew, where filling zeros made one NaN."""
        body = self.body
        if self.parts > 1 or not self.product.zero_filled:
            self.each_sum(batch, partial(self._store, output), one_by_one=False, unroll=True)
            return
        lost = body.variable("pred", "lost", 0)
        self.each_sum(batch, partial(self._note, lost), one_by_one=True, unroll=True)
        with body.block() as repeated:
            self.each_sum(batch, partial(self._repeat, output), one_by_one=True, unroll=False)
        with body.block() as stored:
            self.each_sum(batch, partial(self._store, output), one_by_one=False, unroll=True)
        body.add(If(lost, tuple(repeated), tuple(stored)))

    def _note(self, lost: Name, _at: Index, total: Expr) -> None:
        """Note that a sum is NaN."""
        with self.body.when(binary("!=", total, total)):
            self.body.assign(lost, 1)

    def each_sum(self, batch: Sum, visit: Visit, *, one_by_one: bool, unroll: bool) -> None:
        """Visit a thread's sums that are in the result.

        Parameters
        ----------
        visit : writes the statements for a sum, whose index in the result it is given.
        one_by_one : else neighbours may be visited together, if they can be stored at once.
        unroll : the loops over the sums.
        """
        body, product, kind, (names, sizes) = self.body, self.product, self.index_kind, self.loops
        width = 1 if one_by_one or product.columns % self.group else self.group
        count = len(sizes) - (width > 1)
        with body.loops(names[:count], sizes[:count], unroll=unroll) as numbers:
            counted = body.name("n") if width > 1 else ""
            inner = counter(counted, width) if counted else numbers[-1]
            row, at, total = self.sum_at(numbers[: len(sizes) - 1], inner, width)
            row = body.let(kind, "row", row)
            at = body.let(kind, "column_vector" if counted else "column", at)
            column = counter(at.name, product.columns // width) * width + (inner if counted else 0)
            limits = (
                (row, product.rows, self.sizes[0]),
                (at, product.columns // width, self.sizes[1] // width),
            )
            conditions = [binary("<", here, n) for here, n, size in limits if n % size]
            with body.when(conjoined(conditions) if conditions else None):
                with body.block() as statements:
                    index = product.index(batch, counter(row.name, product.rows), column)
                    visit(index, total)
                body.add(*Pack(self.kernel, counted, width).around(statements))

    def _store_whole(self, output: Name, at: Index, total: Expr) -> None:
        """Store one sum, after the epilogue; or compute it anew, if filling zeros made it NaN."""
        body = self.body
        if not self.product.zero_filled:
            self._store_sum(output, at, total)
            return
        with body.block() as repeated:
            self._repeat(output, at)
        with body.block() as stored:
            self._store_sum(output, at, total)
        body.add(If(binary("!=", total, total), tuple(repeated), tuple(stored)))

    def _store(self, output: Name, at: Index, total: Expr) -> None:
        """Store one sum, after the epilogue; or a part of a sum."""
        if self.parts > 1:
            dims = self.product.dot.shape.dims
            first = counter(self.part.name, self.parts) * prod(dims)
            self.body.assign(item(output, first + linear(at, dims)), total)
        else:
            self._store_sum(output, at, total)

    def _store_sum(self, output: Name, at: Index, total: Expr) -> None:
        """Store one sum, after the epilogue."""
        body, product = self.body, self.product
        result = product.result(body.let(self.kind, "sum", total))
        kind = wide(product.dot.shape.element_type)
        value = body.let(kind, product.dot.name, result)
        before = body.environment.scalars.get(product.dot)
        body.environment.scalars[product.dot] = (value,)
        self._repeat(output, at)
        if before is None:
            del body.environment.scalars[product.dot]

    def _repeat(self, output: Name, at: Index, _total: Expr | None = None) -> None:
        """Store an element that is computed by itself, unless its product is known."""
        body, root = self.body, self.root
        stored_as = body.stored(root.shape.element_type, body.element(root, at))
        body.assign(item(output, linear(at, root.shape.dims)), stored_as)
