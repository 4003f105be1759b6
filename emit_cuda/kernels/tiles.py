"""Products of matrices in tiles: a block of threads shares its loads of both operands.

Each block computes a tile of the result, from a strip of tiles of the left operand and one of the
right one, which its threads bring into shared memory, tile after tile. While they multiply two
tiles, the next two are on their way into registers; those go to another part of shared memory, so
that one barrier a tile is enough (*double buffering*). Each thread adds up several products of its
own, in the order of the contraction, so that sums are those of a plain loop. Elementwise work on
the product (the *epilogue*) is done before it is stored. A convolution is a product of matrices,
too: see `emit_cuda.kernels.products`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.types import literal, wide
from codegen.expressions import NEVER, Choose, Expr, Group, Literal, Name, binary, conjoined, item
from codegen.opcodes.scalar import expression
from codegen.walk import spelled_out
from emit_cuda.kernels.folding import BARRIER
from emit_cuda.kernels.stages import SHARED_BYTES, Stage
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Sum, counter, linear

if TYPE_CHECKING:
    from emit_cuda.kernels.folding import Shared
    from emit_cuda.kernels.products import Product
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Threads along each side of a block, and elements of the contraction that a tile has.
SIDE, DEEP = 16, 16
# How many rows and columns each thread has in large products, and from which size on.
EACH, LARGE = 4, 128
# Tiles of each operand that lie in shared memory at once, where there is room: 2, or 1.
BUFFERS = 2


class Tiles:
    """Writes the kernel of a product."""

    def __init__(self, product: Product) -> None:
        self.product, self.body = product, product.body
        large = min(product.rows, product.columns) >= LARGE
        self.each = EACH if large else 1
        self.width = SIDE * self.each
        self.kind = wide(product.type)
        self.zero = literal(product.type, product.type.dtype.type(0))
        # A row is one longer, so that threads that write columns ask different banks.
        self.pitch = self.width + 1
        # Tiles hold numbers in the type of the sums.
        self.tile_kind, self.nothing = self.kind, self.zero
        self.shared: Shared = ()
        self.buffer: Expr = Literal(0)
        self.staged: tuple[tuple[Name, Name | None], ...] = ()

    def write(self, output: Name, root: Instruction) -> Stage:
        """All statements."""
        body, product = self.body, self.product
        down, across = (-(-n // self.width) for n in (product.rows, product.columns))
        block = body.let("s64", "block", Name("blockIdx.x"))
        batch = Sum(0)
        if product.batch > 1:
            name = body.let("s64", "batch", Name("blockIdx.x") / (down * across))
            batch = counter(name.name, product.batch)
            block = body.let("s64", "tile", block % (down * across))
        self.first = (
            body.let("s64", "first_row", Group(block / across) * self.width),
            body.let("s64", "first_column", Group(block % across) * self.width),
        )
        self.x = body.let("s64", "x", Name("threadIdx.x") % SIDE)
        self.y = body.let("s64", "y", Name("threadIdx.x") / SIDE)
        self.tiles = [Name(body.name("left")), Name(body.name("right"))]
        self.present = Name(body.name("present")) if product.has_holes else None
        size, buffers = DEEP * self.pitch, self._buffers()
        self.shared = tuple((self.tile_kind, t.name, buffers * size) for t in self.tiles)
        if self.present:
            self.shared += (("pred", self.present.name, buffers * size),)
        self.begin()
        self._multiply_strips(batch, buffers)
        self.end()
        self._put(batch, output, root)
        grid = product.batch * down * across, 1, 1
        return Stage((), grid, (SIDE * SIDE, 1, 1), self.shared)

    def _multiply_strips(self, batch: Sum, buffers: int) -> None:
        """Add up the products of all tiles of a strip; the next ones are on their way meanwhile."""
        body, product = self.body, self.product
        self.staged = tuple(self._registers(side) for side in range(2))
        if buffers > 1:
            for side in range(2):
                self._fetch(side, batch, Literal(0))
        with body.loop("deep", product.depth, step=DEEP) as deep:
            if buffers > 1:
                number = deep / DEEP % buffers
                self.buffer = body.let("s64", "buffer", number * (DEEP * self.pitch))
            for side in range(2):
                if buffers == 1:
                    self._fetch(side, batch, deep)
                self._bring(side)
            body.add(BARRIER)
            if buffers > 1:
                following = body.let("s64", "next_deep", deep + DEEP)
                with body.when(binary("<", following, product.depth)):
                    for side in range(2):
                        self._fetch(side, batch, following)
            self.multiply()
            if buffers == 1:
                body.add(BARRIER)

    def begin(self) -> None:
        """Declare the sums, which are zero."""
        body, count = self.body, self.each * self.each
        self.sums = body.variable(self.kind, "sums", size=count)
        with body.loops(["s"], [count]) as (s,):
            body.assign(item(self.sums, s), self.zero)

    def value(self, side: int, index: Index) -> Expr:
        """An element of an operand as tiles hold it."""
        return self.product.element(side, index)

    def end(self) -> None:
        """Nothing has to be done before sums are read."""

    def total(self, m: Sum, n: Sum) -> Expr:
        """One sum of a thread's own."""
        return item(self.sums, m * self.each + n)

    def at(self, own: Expr, number: Sum) -> Expr:
        """The row or column in the tile of a thread's sum."""
        return _added(own, number * SIDE)

    def _buffers(self) -> int:
        """The number of tiles of each operand that lie in shared memory at once."""
        bytes_each = ELEMENT_TYPES[self.tile_kind].bytes + bool(self.present)
        fit = 2 * BUFFERS * DEEP * self.pitch * bytes_each <= SHARED_BYTES // 2
        return BUFFERS if fit and self.product.depth > DEEP else 1

    def _registers(self, side: int) -> tuple[Name, Name | None]:
        """A thread's own elements of a tile on its way, and whether each is there."""
        value = self.body.variable(self.tile_kind, "next", size=self.each)
        masked = self.present and side == 0
        return value, self.body.variable("pred", "next_there", size=self.each) if masked else None

    def _place(self, side: int, e: Sum) -> tuple[Expr, Expr]:
        """The indices in a tile of an element that a thread loads: contracted, and free."""
        number = _added(Name("threadIdx.x"), e * (SIDE * SIDE))
        number = self.body.let("s64", "number", number)
        deep_last = self.product.is_deep_last(side)
        fast = DEEP if deep_last else self.width
        quick, slow = Group(number % fast), Group(number / fast)
        return (quick, slow) if deep_last else (slow, quick)

    def _bring(self, side: int) -> None:
        """Bring a tile of an operand from registers into shared memory."""
        body, (staged, staged_there) = self.body, self.staged[side]
        with body.loops(["e"], [self.each]) as (e,):
            k, m = self._place(side, e)
            at = k * self.pitch + m
            at = at if self.buffer == Literal(0) else self.buffer + at
            body.assign(item(self.tiles[side], at), item(staged, e))
            if self.present and staged_there:
                body.assign(item(self.present, at), item(staged_there, e))

    def _fetch(self, side: int, batch: Sum, deep: Expr) -> None:
        """Read a tile of an operand into registers; elements outside of the operand are zero."""
        body, product = self.body, self.product
        size = (product.rows, product.columns)[side]
        staged, staged_there = self.staged[side]
        with body.loops(["e"], [self.each]) as (e,):
            k, m = self._place(side, e)
            at_deep = body.let("s64", "k", deep + k)
            at_free = body.let("s64", "row" if side == 0 else "column", self.first[side] + m)
            value = body.variable(self.tile_kind, "value", self.nothing)
            there = body.variable("pred", "there", 0) if staged_there else None
            conditions = [
                binary("<", at, n)
                for at, n, step in ((at_deep, product.depth, DEEP), (at_free, size, self.width))
                if n % step
            ]
            with body.when(conjoined(conditions) if conditions else None):
                free, depth = counter(at_free.name, size), counter(at_deep.name, product.depth)
                condition, index = product.operand(side, batch, free, depth)
                if condition != NEVER:
                    with body.when(condition):
                        body.assign(value, self.value(side, index))
                        if there:
                            body.assign(there, 1)
            body.assign(item(staged, e), value)
            if staged_there and there:
                body.assign(item(staged_there, e), there)

    def multiply(self) -> None:
        """Add the products of two tiles."""
        body, each = self.body, self.each
        left, right = self.tiles
        with body.loops(["k"], [DEEP]) as (k,):
            row = body.let("s64", "at", _added(self.buffer, k * self.pitch))
            with body.loops(["m", "n"], [each, each]) as (m, n):
                x = item(left, _added(row + self.y, m * SIDE))
                y = item(right, _added(row + self.x, n * SIDE))
                factors = [body.let(self.kind, "factor", factor) for factor in (x, y)]
                kind, total = self.product.type, self.total(m, n)
                times = expression("multiply", kind, *factors, wraps=False)
                assert times is not None
                product = body.let(self.kind, "product", times)
                sum_ = expression("add", kind, total, product, wraps=False)
                assert sum_ is not None
                if self.present:
                    # Padding adds nothing, not even to an infinity.
                    here = item(self.present, _added(row + self.y, m * SIDE))
                    sum_ = Choose(here, sum_, total)
                body.assign(total, sum_)

    def _put(self, batch: Sum, output: Name, root: Instruction) -> None:
        """Store the sums, after the epilogue."""
        body, product, each = self.body, self.product, self.each
        with body.loops(["m", "n"], [each, each]) as (m, n):
            row = body.let("s64", "row", _added(self.first[0] + self.y, m * SIDE))
            column = body.let("s64", "column", _added(self.first[1] + self.x, n * SIDE))
            conditions = [
                binary("<", at, size)
                for at, size in ((row, product.rows), (column, product.columns))
                if size % self.width
            ]
            with body.when(conjoined(conditions) if conditions else None):
                at = product.index(
                    batch, counter(row.name, product.rows), counter(column.name, product.columns)
                )
                total = body.let(self.kind, "sum", self.total(m, n))
                result = product.result(total)
                kind = wide(product.dot.shape.element_type)
                value = body.let(kind, product.dot.name, result)
                before = body.environment.scalars.get(product.dot)
                body.environment.scalars[product.dot] = (value,)
                number = linear(at, root.shape.dims)
                element = body.element(root, at)
                stored_as = body.stored(root.shape.element_type, element)
                body.assign(item(output, number), stored_as)
                if before is None:
                    del body.environment.scalars[product.dot]


def _added(value: Expr, more: Sum) -> Expr:
    """A number and a multiple of a loop's counter."""
    if more == Sum(0):
        return value
    if value == Literal(0):
        return spelled_out(more)
    return spelled_out(more, value)
