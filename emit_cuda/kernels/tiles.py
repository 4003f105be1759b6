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

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.elements.types import literal, wide
from codegen.expressions import (
    Apply,
    Cast,
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
from emit_cuda.kernels.folding import BARRIER, WARP
from emit_cuda.kernels.stages import SHARED_BYTES, Stage
from emit_cuda.kernels.strips import Strip, added, times
from emit_cuda.kernels.vectors import BYTES, Pack
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Sum, counter, linear

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codegen.elements.kernel import Kernel
    from emit_cuda.kernels.products import Product
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Threads along each side of a block, and elements of the contraction that a tile has.
SIDE, DEEP = 16, 16
# Tiles of each operand that lie in shared memory at once, where there is room: 2, or 1.
BUFFERS = 2
# Multiprocessors that are to have blocks: an H100 has 132.
MULTIPROCESSORS = 132
# The sum of a product and a number, rounded once.
FUSED = {"f32": "__fmaf_rn", "f64": "__fma_rn"}
# Bytes of sums that a thread has at most, so that they stay in registers.
OWN_BYTES = 8 * 8 * 4
# Sums of a thread from which on the compiler must be told to take few registers.
MANY = 32
# Index arithmetic in 32 bits is shorter; it is used for arrays of fewer elements than this.
LARGE_ARRAY = 1 << 30


@dataclass(frozen=True, slots=True)
class Size:
    """The number of sums that each thread has, of 16 x 16.

    Attributes
    ----------
    rows, columns : of sums of each thread.
    share : of a multiprocessor's products a second that such tiles reach, about.
    """

    rows: int
    columns: int
    share: float


SIZES = (Size(8, 8, 1.0), Size(8, 4, 0.85), Size(4, 4, 0.7), Size(1, 1, 0.15))


def size_for(product: Product) -> Size:
    """The tiles with which a product takes the least time on a large GPU.

    Large tiles read less, but there may be too few of them for all multiprocessors.
    """
    bytes_each = ELEMENT_TYPES[wide(product.type)].bytes
    sizes = [s for s in SIZES if s.rows * s.columns * bytes_each <= OWN_BYTES] or SIZES[-1:]
    return min(sizes, key=lambda size: _time(product, size))


def _time(product: Product, size: Size) -> float:
    down, across = (
        -(-product.rows // (SIDE * size.rows)),
        -(-product.columns // (SIDE * size.columns)),
    )
    turns = -(-product.batch * down * across // MULTIPROCESSORS)
    return turns * size.rows * size.columns / size.share


class Tiles:
    """Writes the kernel of a product."""

    def __init__(self, kernel: Kernel, product: Product, size: Size | None = None) -> None:
        self.kernel, self.product, self.body = kernel, product, product.body
        size = size or size_for(product)
        self.each = size.rows, size.columns
        self.sizes = SIDE * size.rows, SIDE * size.columns
        self.kind = wide(product.type)
        # Neighbours among a thread's sums: as many as are read at once from shared memory.
        whole = product.type.kind != "complex" and min(self.each) > 1
        self.group = max(1, BYTES // ELEMENT_TYPES[self.kind].bytes) if whole else 1
        self.group = min(self.group, *self.each)
        self.vector = self.group
        # Rows of a tile begin at other banks, and stay aligned.
        self.pitches = tuple(width + self.group for width in self.sizes)
        # Tiles hold numbers in the type of the sums.
        self.tile_kind, self.nothing = self.kind, literal(product.type, product.type.dtype.type(0))
        self.strips: list[Strip] = []
        self.shared: list[tuple[str, str, int]] = []
        self.buffer: Expr = Literal(0)

    def write(self, output: Name, root: Instruction) -> Stage:
        """All statements."""
        body, product = self.body, self.product
        self.index_kind = index_kind((root, product.dot))
        down, across = (
            -(-n // size)
            for n, size in zip((product.rows, product.columns), self.sizes, strict=True)
        )
        kind, block = self.index_kind, Name("blockIdx.x")
        batch = Sum(0)
        if product.batch > 1:
            name = body.let(kind, "batch", block / (down * across))
            batch = counter(name.name, product.batch)
            block = body.let(kind, "tile", block % (down * across))
        self.tile = (
            body.let(kind, "tile_row", block / across),
            body.let(kind, "tile_column", block % across),
        )
        self.begin()
        buffers = self._buffers()
        self._make_strips(buffers)
        self._multiply_strips(batch, buffers)
        self.end()
        self._put(batch, output, root)
        grid = product.batch * down * across, 1, 1
        block, shared = (SIDE * SIDE, 1, 1), tuple(self.shared)
        return Stage((), grid, block, shared, aligned=self.aligned, resident=self.resident)

    @property
    def aligned(self) -> int:
        """Bytes at multiples of which shared arrays begin."""
        return self.group * ELEMENT_TYPES[self.kind].bytes if self.group > 1 else 0

    @property
    def resident(self) -> int:
        """Blocks that run at once, so that some compute while others wait."""
        return 2 if self.each[0] * self.each[1] >= MANY else 1

    def _make_strips(self, buffers: int) -> None:
        """Decide how the tiles of both operands come into shared memory."""
        for side in range(2):
            masked = side == 0 and self.product.has_holes
            strip = Strip(
                self.kernel, self.product, side,
                tile=self.tile[side], size=self.sizes[side], deep=DEEP, threads=SIDE * SIDE,
                kind=self.tile_kind, index_kind=self.index_kind, value=self.value,
                nothing=self.nothing, pitch=self.pitches[side], vector=self.vector, masked=masked,
            )  # fmt: skip
            self.strips.append(strip)
            size = buffers * DEEP * self.pitches[side]
            self.shared.append((self.tile_kind, strip.array.name, size))
            if strip.present:
                self.shared.append(("pred", strip.present.name, size))
        for strip in self.strips:
            strip.declare()

    def _multiply_strips(self, batch: Sum, buffers: int) -> None:
        """Add up the products of all tiles of a strip; the next ones are on their way meanwhile."""
        body, product = self.body, self.product
        if buffers > 1:
            for strip in self.strips:
                strip.fetch(batch, Literal(0))
        kind = self.index_kind
        with body.loop("deep", product.depth, step=DEEP, kind=kind) as deep:
            if buffers > 1:
                self.buffer = body.let(self.index_kind, "buffer", deep / DEEP % buffers)
            for strip in self.strips:
                if buffers == 1:
                    strip.fetch(batch, deep)
                strip.bring(self.buffer)
            body.add(BARRIER)
            if buffers > 1:
                following = body.let(self.index_kind, "next_deep", deep + DEEP)
                with body.when(binary("<", following, product.depth)):
                    for strip in self.strips:
                        strip.fetch(batch, following)
            self.multiply()
            if buffers == 1:
                body.add(BARRIER)

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
            body.assign(_part(self.sums, s, n, self.group), self.nothing)

    def value(self, side: int, index: Index) -> Expr:
        """An element of an operand as tiles hold it."""
        return self.product.element(side, index)

    def end(self) -> None:
        """Nothing has to be done before sums are read."""

    def total(self, m: Sum, h: Sum, n: Sum) -> Expr:
        """One sum of a thread's own: in row `m`, the `n`th of group `h`."""
        return _part(self.sums, m * (self.each[1] // self.group) + h, n, self.group)

    def _buffers(self) -> int:
        """The number of tiles of each operand that lie in shared memory at once."""
        bytes_each = ELEMENT_TYPES[self.tile_kind].bytes + self.product.has_holes
        fit = BUFFERS * DEEP * sum(self.pitches) * bytes_each <= SHARED_BYTES
        return BUFFERS if fit and self.product.depth > DEEP else 1

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
        pitch = self.pitches[side] // group
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

    def _put(self, batch: Sum, output: Name, root: Instruction) -> None:
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
                    self._store(output, place, total, root)
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

    def _store(self, output: Name, at: Index, total: Expr, root: Instruction) -> None:
        """Store one sum, after the epilogue."""
        body, product = self.body, self.product
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
