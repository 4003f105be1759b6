"""Products of matrices in tiles: a block of threads shares its loads of both operands.

Each block computes a tile of the result, from a strip of tiles of the left operand and one of the
right one, which its threads bring into shared memory, tile after tile. While they multiply two
tiles, the next two are on their way into registers; those go to another part of shared memory, so
that one barrier a tile is enough (*double buffering*). Each thread adds up several products of its
own, in the order of the contraction. It reads the factors of a column and a row of them at once, so
that 16 numbers from shared memory make 64 products. Elementwise work on the product (the
*epilogue*) is done before it is stored. A convolution is a product of matrices, too: see
`emit_cuda.kernels.products`.

References
----------
NVIDIA, *CUTLASS: Fast Linear Algebra in CUDA C++*, which explains this hierarchy of tiles.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.elements.types import literal, wide
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    binary,
    conjoined,
    item,
)
from codegen.kinds import Pointer
from codegen.opcodes.scalar import expression
from codegen.statements import live
from codegen.walk import spelled_out
from emit_cuda.kernels import tile_sizes
from emit_cuda.kernels.folding import BARRIER, WARP
from emit_cuda.kernels.layouts import PaddedRows
from emit_cuda.kernels.stages import SHARED_BYTES, Stage
from emit_cuda.kernels.strips import Reading, Strip, added, times
from emit_cuda.kernels.tile_sizes import SIDE, best
from emit_cuda.kernels.vectors import BYTES, Pack
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Sum, counter, linear

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.elements.kernel import Kernel
    from emit_cuda.kernels.products import Product
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Elements of the contraction that a tile has.
DEEP = 16
# Elements along the contraction that neighbouring threads read at least: a sector of f32.
LEAST_DEEP = 8
# Tiles of each operand that lie in shared memory at once, where there is room: 2, or 1.
BUFFERS = 2
# Rows of tiles that blocks with neighbouring numbers compute.
TOGETHER = 8
# The sum of a product and a number, rounded once.
FUSED = {"f32": "__fmaf_rn", "f64": "__fma_rn"}
# Bytes of sums that a thread has at most, so that they stay in registers.
OWN_BYTES = 8 * 8 * 4
# Sums of a thread from which on the compiler must be told to take few registers.
MANY = 32
# Index arithmetic in 32 bits is shorter; it is used for arrays of fewer elements than this.
LARGE_ARRAY = 1 << 30


class Tiles:
    """Writes the kernel of a product: each thread has sums of its own, in registers.

    Attributes
    ----------
    threads : of a block.
    sizes : rows and columns of a block's tile.
    deep : how far a tile reaches along the contraction.
    copies : whether operands may be copied to shared memory, past the registers.
    buffers : tiles of each operand in shared memory, which has `most_shared` bytes.
    parts : of each sum, which as many blocks add up.
    group : neighbours among a thread's sums.
    """

    threads, deep, buffers, most_shared, parts = SIDE * SIDE, DEEP, BUFFERS, SHARED_BYTES, 1

    def __init__(self, kernel: Kernel, product: Product, root: Instruction) -> None:
        self.kernel, self.product, self.body, self.root = kernel, product, product.body, root
        self.index_kind = index_kind((root, product.dot))
        self.kind = wide(product.type)
        self.buffer: Expr = Literal(0)
        self.strips: list[Strip] = []
        self.shared: list[tuple[str, str, int]] = []
        self.choose()

    def choose(self) -> None:
        """Choose the size of tiles."""
        self.deep, self.buffers = DEEP, BUFFERS
        bytes_each = ELEMENT_TYPES[self.kind].bytes
        most = OWN_BYTES // bytes_each * SIDE * SIDE
        sizes = [s for s in tile_sizes.SIZES if s.rows * s.columns <= most]
        size, parts = best(self.product, sizes or tile_sizes.SIZES, bytes_each)
        self.sizes = size.rows, size.columns
        self.split(parts)
        self.each = size.rows // SIDE, size.columns // SIDE
        # Neighbours among a thread's sums: as many as are read at once from shared memory.
        whole = self.product.type.kind != "complex" and min(self.each) > 1
        self.group = min(max(1, BYTES // bytes_each), *self.each) if whole else 1
        # Rows of a tile begin at other banks, and stay aligned.
        self.layouts = [PaddedRows(DEEP, width, self.group) for width in self.sizes]
        self.aligned = self.group * bytes_each if self.group > 1 else 0
        self.copies = self.aligned == BYTES
        self.resident = 2 if self.each[0] * self.each[1] >= MANY else 1

    def reading(self) -> Reading:
        """The way in which threads read operands: tiles hold numbers in the type of the sums."""
        nothing = literal(self.product.type, self.product.type.dtype.type(0))
        return Reading(
            self.kernel, self.product, DEEP, LEAST_DEEP, self.threads, self.kind, self.index_kind,
            self.product.element, nothing, self.group, copies=self.copies,
        )  # fmt: skip

    def write(self, output: Name) -> Stage:
        """All statements."""
        body, product, kind = self.body, self.product, self.index_kind
        down, across = (
            -(-n // size)
            for n, size in zip((product.rows, product.columns), self.sizes, strict=True)
        )
        block: Expr = Name("blockIdx.x")
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
        self._make_strips()
        self._multiply_strips(batch)
        self.put(batch, output)
        grid, block_of = (blocks * self.parts, 1, 1), (self.threads, 1, 1)
        shared = tuple(self.shared)
        return Stage((), grid, block_of, shared, aligned=self.aligned, resident=self.resident)

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

    def strip(self, side: int, tile: Expr) -> Strip:
        """The tiles of an operand."""
        masked = side == 0 and self.product.has_holes
        size, layout = self.sizes[side], self.layouts[side]
        return Strip(self.reading(), side, tile, size, layout, masked=masked)

    def _make_strips(self) -> None:
        """Decide how the tiles of both operands come into shared memory."""
        self.strips = [self.strip(side, self.tile[side]) for side in range(2)]
        if not all(strip.copies for strip in self.strips):
            # Measured on an H200, f32 is up to 6 % slower where one operand is copied.
            self.copies = False
            self.strips = [self.strip(side, self.tile[side]) for side in range(2)]
        reading = self.reading()
        bytes_each = [ELEMENT_TYPES[reading.kind].bytes + s.masked for s in self.strips]
        elements = [s.layout.elements for s in self.strips]
        bytes_of = sum(n * b for n, b in zip(elements, bytes_each, strict=True))
        if self.buffers * bytes_of > self.most_shared or self.product.depth <= self.deep:
            self.buffers = 1
        for strip, count in zip(self.strips, elements, strict=True):
            self.shared.append((reading.kind, strip.array.name, self.buffers * count))
            if strip.present:
                self.shared.append(("pred", strip.present.name, self.buffers * count))
        for strip in self.strips:
            strip.declare()

    def _multiply_strips(self, batch: Sum) -> None:
        """Add up the products of all tiles of a strip, or of a part of it."""
        body, depth = self.body, self.product.depth
        self.begins: Expr = Literal(0)
        self.depth: Expr | int = depth
        if self.parts > 1:
            self.begins = body.let(self.index_kind, "first_deep", self.part * self.part_depth)
            self.depth = self.part_depth
            if depth % self.part_depth:
                rest = body.let(self.index_kind, "rest", depth - self.begins)
                least = Choose(binary("<", rest, self.depth), rest, Literal(self.depth))
                self.depth = body.let(self.index_kind, "depth", least)
        copied = [strip for strip in self.strips if strip.copies]
        others = [strip for strip in self.strips if not strip.copies]
        if self.buffers > 1:
            self._multiply_ahead(batch, copied, others)
            return
        with body.loop("deep", self.depth, step=self.deep, kind=self.index_kind) as deep:
            at = self._at(deep)
            for strip in others:
                strip.fetch(batch, at)
                strip.bring(Literal(0))
            for strip in copied:
                strip.copy(batch, at, Literal(0))
            if copied:
                body.call("end_copies")
                self.wait_but_for(0)
            body.add(BARRIER)
            self.multiply()
            body.add(BARRIER)

    def split(self, parts: int) -> None:
        """Let so many blocks add up parts of each sum, which are whole tiles deep."""
        self.part_depth = -(-self.product.depth // (parts * self.deep)) * self.deep
        self.parts = -(-self.product.depth // self.part_depth)

    def _at(self, deep: Expr) -> Expr:
        """The place along the contraction that is so far behind the first one of a block's part."""
        if self.begins == Literal(0):
            return deep
        if deep == Literal(0):
            return self.begins
        return self.body.let(self.index_kind, "at_deep", self.begins + deep)

    def _multiply_ahead(self, batch: Sum, copied: Sequence[Strip], others: Sequence[Strip]) -> None:
        """Add up products, while the next tiles are on their way to other parts of memory."""
        body, kind, ahead = self.body, self.index_kind, self.buffers - 1
        if copied:
            self._copy_first(batch, copied, ahead)
        for strip in others:
            strip.fetch(batch, self._at(Literal(0)))
        with body.loop("deep", self.depth, step=self.deep, kind=kind) as deep:
            self.buffer = body.let(kind, "buffer", deep / self.deep % self.buffers)
            for strip in others:
                strip.bring(self.buffer)
            if copied:
                self.wait_but_for(ahead - 1)
            body.add(BARRIER)
            if others:
                following = body.let(kind, "next_deep", deep + self.deep)
                with body.when(binary("<", following, self.depth)):
                    at = self._at(following)
                    for strip in others:
                        strip.fetch(batch, at)
            if copied:
                self._copy_next(batch, copied, deep, ahead)
            self.multiply()

    def wait_but_for(self, groups: int) -> None:
        """Wait for copies, but for the last ones."""
        self.body.call(f"wait_but_for_{groups}_copies")

    def _copy_first(self, batch: Sum, strips: Sequence[Strip], ahead: int) -> None:
        """Begin to copy the first tiles, each of which is waited for on its own."""
        body = self.body
        with body.loops(["n"], [ahead], unroll=True) as (n,):
            deep = spelled_out(n * self.deep)
            least = self.product.depth - (self.parts - 1) * self.part_depth
            sure = (ahead - 1) * self.deep < least
            with body.when(None if sure else binary("<", deep, self.depth)):
                at = self._at(deep)
                for strip in strips:
                    strip.copy(batch, at, spelled_out(n))
            body.call("end_copies")

    def _copy_next(self, batch: Sum, strips: Sequence[Strip], deep: Name, ahead: int) -> None:
        """Begin to copy later tiles, to where all threads have read the last ones."""
        body, kind = self.body, self.index_kind
        later = body.let(kind, "later_deep", deep + ahead * self.deep)
        with body.when(binary("<", later, self.depth)):
            free = body.let(kind, "free_buffer", later / self.deep % self.buffers)
            at = self._at(later)
            for strip in strips:
                strip.copy(batch, at, free)
        body.call("end_copies")

    def begin(self) -> None:
        """Declare the sums, which are zero, and say which a thread has.

        A warp has 4 x 8 threads, which read 4 vectors of the left tile and 8 of the right one.
        """
        body, count = self.body, self.each[0] * self.each[1]
        thread, kind = Name("threadIdx.x"), self.index_kind
        warp = Group(thread / WARP)
        self.y = body.let(kind, "y", warp / 2 * 4 + thread % WARP / 8)
        self.x = body.let(kind, "x", warp % 2 * 8 + thread % 8)
        vector = self.kind if self.group == 1 else f"{self.kind}x{self.group}"
        self.sums = body.variable(vector, "sums", size=count // self.group)
        with body.loops(["s", "n"], [count // self.group, self.group], unroll=True) as (s, n):
            body.assign(_part(self.sums, s, n, self.group), self.reading().nothing)

    def total(self, m: Sum, h: Sum, n: Sum) -> Expr:
        """One sum of a thread's own: in row `m`, the `n`th of group `h`."""
        return _part(self.sums, m * (self.each[1] // self.group) + h, n, self.group)

    def multiply(self) -> None:
        """Add the products of two tiles."""
        body, group = self.body, self.group
        rows, columns = self.each
        present = self.strips[0].present
        with body.loops(["k"], [DEEP], unroll=True) as (k,):
            left, right = (
                self._factors(self.kind, s.array, s.side, k, own)
                for s, own in zip(self.strips, (self.y, self.x), strict=True)
            )
            there = self._factors("pred", present, 0, k, self.y) if present else None
            with body.loops(["m"], [rows], unroll=True) as (m,):
                # Padding adds nothing, not even to an infinity.
                at = m // group, m % group, group
                here = _part(there, *at) if there else None
                sizes = columns // group, group
                with body.when(here), body.loops(["h", "n"], sizes, unroll=True) as (h, n):
                    total = self.total(m, h, n)
                    factors = _part(left, *at), _part(right, h, n, group)
                    body.assign(total, self._sum(total, *factors))

    def _factors(self, kind: str, array: Name, side: int, k: Sum, own: Name) -> Name:
        """A thread's factors of a row of a tile, as registers."""
        body, group, count = self.body, self.group, self.each[side] // self.group
        pitch = self.layouts[side].elements // DEEP // group
        vector = kind if group == 1 else f"{kind}x{group}"
        made = body.variable(vector, f"factors_{side}", size=count)
        source = array if group == 1 else Cast(Pointer(vector, const=True), array)
        begin = own if self.buffer == Literal(0) else self.buffer * (DEEP * pitch) + own
        with body.loops(["g"], [count], unroll=True) as (g,):
            body.assign(item(made, g), item(source, added(begin, k * pitch + g * SIDE)))
        return made

    def _sum(self, total: Expr, left: Expr, right: Expr) -> Expr:
        """A sum and one more product."""
        kind = self.product.type
        if kind.name in FUSED:
            return Apply(FUSED[kind.name], (left, right, total))
        factors = [self.body.let(self.kind, "factor", factor) for factor in (left, right)]
        times = expression("multiply", kind, *factors, wraps=False)
        assert times is not None
        product = self.body.let(self.kind, "product", times)
        sum_ = expression("add", kind, total, product, wraps=False)
        assert sum_ is not None
        return sum_

    def put(self, batch: Sum, output: Name) -> None:
        """Store the sums, after the epilogue: neighbours at once, where they are aligned."""
        body, product = self.body, self.product
        width = self.group if product.columns % self.group == 0 else 1
        names = ["m", "h", *(["n"] if width == 1 else [])]
        sizes = [self.each[0], self.each[1] // self.group, *([self.group] if width == 1 else [])]
        with body.loops(names, sizes, unroll=True) as (m, h, *rest):
            row = self._row(m)
            kind = self.index_kind
            if width > 1:
                inner = counter(body.name("n"), width)
                at = self.tile[1] * (self.sizes[1] // width) + self.x
                at = body.let(kind, "column_vector", added(at, h * SIDE))
                column = counter(at.name, product.columns // width) * width + inner
            else:
                inner = rest[0]
                at = self.tile[1] * self.sizes[1] + times(self.x, self.group)
                more = h * (SIDE * self.group) + inner
                at = body.let(kind, "column", added(at, more))
                column = counter(at.name, product.columns)
            conditions = [
                binary("<", here, count)
                for here, count, size in (
                    (row, product.rows, self.sizes[0]),
                    (at, product.columns // width, self.sizes[1] // width),
                )
                if count % size
            ]
            total = self.total(m, h, inner)
            with body.when(conjoined(conditions) if conditions else None):
                with body.block() as statements:
                    place = product.index(batch, counter(row.name, product.rows), column)
                    self.store(output, place, total)
                if width > 1:
                    body.add(*Pack(self.kernel, inner.names[0], width).around(statements))
                else:
                    body.add(*live(statements))

    def _row(self, m: Sum) -> Name:
        """The row of one of a thread's sums."""
        group = self.group
        more = m // group * (SIDE * group) + m % group
        at = self.tile[0] * self.sizes[0] + times(self.y, group)
        return self.body.let(self.index_kind, "row", added(at, more))

    def store(self, output: Name, at: Index, total: Expr) -> None:
        """Store one sum, after the epilogue; or a part of a sum."""
        if self.parts > 1:
            dims = self.product.dot.shape.dims
            first = counter(self.part.name, self.parts) * prod(dims)
            self.body.assign(item(output, first + linear(at, dims)), total)
        else:
            self.store_whole(output, at, total)

    def store_whole(self, output: Name, at: Index, total: Expr) -> None:
        """Store one sum, after the epilogue."""
        body, product, root = self.body, self.product, self.root
        result = product.result(body.let(self.kind, "sum", total))
        kind = wide(product.dot.shape.element_type)
        value = body.let(kind, product.dot.name, result)
        before = body.environment.scalars.get(product.dot)
        body.environment.scalars[product.dot] = (value,)
        element = body.element(root, at)
        stored_as = body.stored(root.shape.element_type, element)
        body.assign(item(output, linear(at, root.shape.dims)), stored_as)
        if before is None:
            del body.environment.scalars[product.dot]


def index_kind(results: Iterable[Instruction]) -> str:
    """The type of index arithmetic that does for all arrays from which results are computed."""
    stack = list(results)
    seen = set(stack)
    while stack:
        instr = stack.pop()
        if any(s.is_array and s.size >= LARGE_ARRAY for _, s in instr.shape.leaves()):
            return "s64"
        fresh = [operand for operand in instr.operands if operand not in seen]
        seen.update(fresh)
        stack += fresh
    return "s32"


def _part(vectors: Name, number: Sum, part: Sum, group: int) -> Expr:
    """One number of several vectors; of single numbers, where a group is one."""
    vector = item(vectors, number)
    return vector if group == 1 else item(vector, part)
