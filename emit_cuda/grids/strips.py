"""The tiles of one operand of a product on their way: from the operand's memory into shared memory.

A block's threads read a tile together. Neighbours in the operand's memory are read by one thread,
16 bytes at once, where the index map proves that they lie side by side; else by neighbouring
threads. They wait in registers while the tile before is multiplied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import (
    NEVER,
    THREAD_X,
    Cast,
    Choose,
    Expr,
    Literal,
    Name,
    Op,
    binary,
    conjoined,
    grouped,
    item,
)
from codegen.kinds import Pointer, Vector
from codegen.statements import For, live
from codegen.walk import added, names_of, times
from emit_cuda.loops.packs import Pack
from emit_cuda.loops.vectors import BYTES
from optimizer.analysis.indexing import Sum, counter

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from contextlib import AbstractContextManager

    from codegen.opcodes.matrix_products import Product
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.layouts import TileLayout
    from optimizer.analysis.indexing import Index


class TileReader(ABC):
    """A kernel whose blocks bring tiles of both operands of a product into shared memory.

    Attributes
    ----------
    index_kind : the type of index arithmetic.
    threads : of a block.
    sizes : the rows and the columns of its tile of the result.
    tile_depth : how far a tile of an operand reaches along the contraction.
    least_depth : elements along the contraction that neighbouring threads read at least.
    tile_kind, nothing : the type of the elements of both operands in shared memory, and zero.
    layouts : of a tile of each operand there.
    copies : operands may be copied past the registers.
    """

    index_kind: str
    threads: int
    sizes: tuple[int, int]
    tile_depth: int
    least_depth: int
    tile_kind: str
    nothing: Expr
    layouts: Sequence[TileLayout]
    copies: bool

    def __init__(self, kernel: CudaKernel, product: Product) -> None:
        self.kernel, self.product, self.body = kernel, product, kernel.body

    @abstractmethod
    def value(self, side: int, index: Index) -> Expr:
        """An element of an operand, as shared memory has it."""


class Strip:
    """The tiles of an operand, one after the other along the contraction, which are brought here.

    Parameters
    ----------
    side : 0 for the left operand, whose tiles have rows of the result; 1 for the right one.
    tile : which tile of rows or of columns the block computes.

    Attributes
    ----------
    size, layout : the tile's rows or columns, and how it lies in shared memory.
    width : neighbours that a thread reads at once.
    copies : whether they are copied past the registers.
    """

    def __init__(self, tiles: TileReader, side: int, tile: Expr) -> None:
        self.tiles, self.side, self.tile = tiles, side, tile
        self.kernel, self.product, self.body = tiles.kernel, tiles.product, tiles.body
        self.size, self.layout = tiles.sizes[side], tiles.layouts[side]
        self.free = (self.product.rows, self.product.columns)[side]
        self.contracted_last = self.product.contracted_last(side)
        self.name = ("left", "right")[side]
        self.array = Name(self.body.name(self.name))
        self.width = self.layout.vector
        self.copies = tiles.copies and self.layout.contracted_last == self.contracted_last
        self.copies = self.copies and self._can_read()
        while not self.copies and not self._can_read():
            self.width //= 2

    def declare(self) -> None:
        """Declare where a thread reads, and the registers that its elements wait in."""
        body, thread, kind = self.body, THREAD_X, self.tiles.index_kind
        at_k, at_free = f"{self.name}_k", f"{self.name}_{('row', 'column')[self.side]}"
        quick = self.along[0] if self.contracted_last else self.along[1]
        names = (at_k, at_free) if self.contracted_last else (at_free, at_k)
        first = body.let(kind, names[0], thread % quick)
        second = body.let(kind, names[1], thread / quick)
        self.own = (first, second) if self.contracted_last else (second, first)
        if not self.copies:
            count, vector = self.passes[0] * self.passes[1], self._vector()
            self.waiting = body.variable(vector, f"next_{self.name}", size=count)

    def fetch(self, batch: Sum, k: Expr) -> None:
        """Read a tile into registers; elements outside of the operand are zero.

        Parameters
        ----------
        k : where the tile begins along the contraction.
        """
        with self._passes() as (e, f):
            self._fetch_pass(batch, k, e, f)

    def copy(self, batch: Sum, k: Expr, buffer: Expr) -> None:
        """Begin to copy a tile into a part of shared memory."""
        with self._passes() as (e, f):
            self._copy_pass(batch, k, buffer, e, f)

    def bring(self, buffer: Expr) -> None:
        """Bring a tile from registers into shared memory.

        Parameters
        ----------
        buffer : the number of the part of shared memory.
        """
        body, width = self.body, self.width
        whole = width == self.layout.vector and self.layout.contracted_last == self.contracted_last
        with self._passes() as (e, f):
            here = item(self.waiting, e * self.passes[1] + f)
            where = self._in_tile(e, f)
            if whole and width > 1:
                array = Cast(Pointer(self._vector()), self.array)
                at = self.layout.vector_number(*where)
                body.assign(item(array, self.in_buffer(buffer, at, width)), here)
                return
            with body.loops(["i"], [width], unroll=True) as (i,):
                at = self.in_buffer(buffer, self._element(where, i))
                body.assign(item(self.array, at), here if width == 1 else item(here, i))

    def _vector(self) -> str | Vector:
        """The type of neighbours that are read at once."""
        kind = self.tiles.tile_kind
        return kind if self.width == 1 else Vector(kind, self.width)

    def _share_out(self) -> None:
        """Distribute a tile over threads: how many lie along a side, and how often each loads."""
        width, threads, depth = self.width, self.tiles.threads, self.tiles.tile_depth
        if self.contracted_last:
            along = max(self.tiles.least_depth // width, threads // self.size, 1)
            along = min(along, depth // width)
            self.along = along, threads // along
            self.reach = along * width, threads // along
        else:
            along = min(self.size // width, threads)
            self.along = threads // along, along
            self.reach = threads // along, along * width
        self.passes = depth // self.reach[0], self.size // self.reach[1]

    def _can_read(self) -> bool:
        """Whether threads can read so many neighbours at once."""
        self._share_out()
        if self.width == 1:
            return not self.copies
        along = self.product.depth if self.contracted_last else self.free
        if along % self.width or 0 in self.passes:
            return False
        zero = Sum(0)
        with self.body.block():
            self.declare()
            if self.copies:
                return self._copy_pass(zero, Literal(0), Literal(0), zero, zero)
            return self._fetch_pass(zero, Literal(0), zero, zero)

    def _passes(self) -> AbstractContextManager[Index]:
        return self.body.loops(["e", "f"], self.passes, unroll=True)

    def _in_tile(self, e: Sum, f: Sum) -> tuple[Expr, Expr]:
        """The row in shared memory of a thread's elements, and the column.

        The column counts vectors, if the operand's index along the same dimension does.
        """
        reach = list(self.reach)
        reach[0 if self.contracted_last else 1] //= self.width
        k, free = (
            added(own, counted * step)
            for own, counted, step in zip(self.own, (e, f), reach, strict=True)
        )
        return (free, k) if self.layout.contracted_last else (k, free)

    def _element(self, where: tuple[Expr, Expr], i: Sum) -> Expr:
        """The number in shared memory of one of several neighbours."""
        slow, quick = where
        if self.layout.contracted_last == self.contracted_last:
            quick = added(times(quick, self.width), i)
        else:
            slow = added(times(slow, self.width), i)
        return self.layout.element(grouped(slow), grouped(quick))

    def in_buffer(self, buffer: Expr, at: Expr, unit: int = 1) -> Expr:
        """An offset in one of the buffers of shared memory."""
        if buffer == Literal(0):
            return at
        return buffer * (self.layout.elements // unit) + at

    def _fetch_pass(self, batch: Sum, k: Expr, e: Sum, f: Sum) -> bool:
        """One read of each thread; whether it is one of several neighbours at once."""
        body, width = self.body, self.width
        condition, index, inner = self._read(batch, k, e, f)
        if condition is not None and not set(inner.names).isdisjoint(names_of(condition)):
            return False
        waiting = item(self.waiting, e * self.passes[1] + f)
        register = waiting if width == 1 else item(waiting, inner)
        if condition is not None:
            with self._each(inner):
                body.assign(register, self.tiles.nothing)
        if condition == NEVER:
            return width == 1
        with body.when(condition):
            with body.block() as statements:
                body.assign(register, self.tiles.value(self.side, index))
            if width == 1:
                body.add(*live(statements))
                return True
            loop = Pack(self.kernel, inner.names[0], width).loop(statements)
            if loop is None:
                return False
            body.add(*loop)
        return True

    def _copy_pass(self, batch: Sum, k: Expr, buffer: Expr, e: Sum, f: Sum) -> bool:
        """One copy of each thread; whether the operand has the neighbours as shared memory has."""
        body, width = self.body, self.width
        condition, index, inner = self._read(batch, k, e, f)
        if condition is not None and not set(inner.names).isdisjoint(names_of(condition)):
            return False
        with body.block() as statements:
            value = self.tiles.value(self.side, index)
        pack = Pack(self.kernel, inner.names[0], width)
        source = pack.source(statements, value)
        if source is None or width != self.layout.vector:
            return False
        array = Cast(Pointer(self._vector()), self.array)
        at = self.in_buffer(
            buffer, self.layout.vector_number(*map(grouped, self._in_tile(e, f))), width
        )
        count: Expr = Literal(BYTES)
        if condition is not None:
            count = Choose(condition, count, Literal(0))
        body.call(
            FUNCTIONS["copy_16_bytes"], Op("&", (item(array, at),)), Op("&", (source,)), count
        )
        return True

    def _read(self, batch: Sum, k: Expr, e: Sum, f: Sum) -> tuple[Expr | None, Index, Sum]:
        """The condition that there are a thread's elements, their index, a counter of neighbours.

        The counter's loop is left to the caller, as are the names that the condition asks for.
        """
        product, width = self.product, self.width
        at_k, at_free = self._read_indices(k, e, f)
        inner = counter(self.body.name("i"), width)
        units = (width, 1) if self.contracted_last else (1, width)
        k_sum = counter(at_k.name, product.depth // units[0]) * units[0]
        free_sum = counter(at_free.name, self.free // units[1]) * units[1]
        if self.contracted_last:
            k_sum = k_sum + inner
        else:
            free_sum = free_sum + inner
        condition, index = product.operand(self.side, batch, free_sum, k_sum)
        if condition == NEVER:
            return NEVER, index, inner
        limits = self._limits(at_k, product.depth, self.tiles.tile_depth, units[0])
        limits += self._limits(at_free, self.free, self.size, units[1])
        if condition is not None:
            limits.append(condition)
        return conjoined(limits) if limits else None, index, inner

    @contextmanager
    def _each(self, inner: Sum) -> Generator[None]:
        """Statements for each of a thread's neighbours."""
        with self.body.block() as statements:
            yield
        if self.width == 1:
            self.body.add(*statements)
        else:
            self.body.add(For(inner.names[0], self.width, tuple(statements), unroll=True))

    def _read_indices(self, k: Expr, e: Sum, f: Sum) -> tuple[Name, Name]:
        """The index along the contraction that a thread reads, and the row or column.

        One of both counts vectors, if they are read.
        """
        body, width, (own_k, own_free) = self.body, self.width, self.own
        kind = self.tiles.index_kind
        names = ["k", ("row", "column")[self.side]]
        reach = list(self.reach)
        if width > 1:
            along = 0 if self.contracted_last else 1
            names[along] += "_vector"
            reach[along] //= width
        size = self.size
        if width > 1 and self.contracted_last:
            k = k if k == Literal(0) else k / width
        elif width > 1:
            size //= width
        at = own_k if k == Literal(0) else k + own_k
        at_k = body.let(kind, names[0], added(at, e * reach[0]))
        at = self.tile * size + own_free
        return at_k, body.let(kind, names[1], added(at, f * reach[1]))

    def _limits(self, at: Name, count: int, size: int, unit: int) -> list[Expr]:
        """The condition that an index is in the operand, where tiles reach out of it."""
        return [binary("<", at, count // unit)] if count % size else []
