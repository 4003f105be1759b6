"""The tiles of one operand of a product on their way: from the operand's memory into shared memory.

A block's threads read a tile together. Neighbours in the operand's memory are read by one thread,
16 bytes at once, where the index map proves that they lie side by side; else by neighbouring
threads. They wait in registers while the tile before is multiplied.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from codegen.expressions import NEVER, Cast, Literal, Name, binary, conjoined, item
from codegen.kinds import Pointer
from codegen.statements import For, live
from codegen.walk import names_of, spelled_out
from emit_cuda.kernels.vectors import Pack
from optimizer.analysis.indexing import Sum, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from codegen.elements.kernel import Kernel
    from codegen.expressions import Expr
    from emit_cuda.kernels.products import Product
    from optimizer.analysis.indexing import Index

# Elements along the contraction that neighbouring threads read at least: a sector of f32.
LEAST_DEEP = 8


class Strip:
    """Brings the tiles of an operand, one after the other along the contraction.

    Parameters
    ----------
    side : 0 for the left operand, whose tiles have rows of the result; 1 for the right one.
    tile : which tile of rows or of columns the block computes.
    size, deep : the tile's rows or columns, and how far it reaches along the contraction.
    threads : of a block.
    kind : of the numbers in shared memory.
    value : gives an element of the operand, as shared memory has it.
    pitch : from one element along the contraction to the next.
    vector : how many neighbours may be read at once.
    masked : where there is no element, that is noted, too.

    Attributes
    ----------
    width : how many neighbours a thread reads.
    """

    def __init__(
        self,
        kernel: Kernel,
        product: Product,
        side: int,
        *,
        tile: Expr,
        size: int,
        deep: int,
        threads: int,
        kind: str,
        index_kind: str,
        value: Callable[[int, Index], Expr],
        nothing: Expr,
        pitch: int,
        vector: int,
        masked: bool,
    ) -> None:
        self.kernel, self.body, self.product, self.side = kernel, kernel.body, product, side
        self.tile, self.size, self.deep, self.threads = tile, size, deep, threads
        self.kind, self.index_kind, self.value, self.nothing = kind, index_kind, value, nothing
        self.pitch, self.masked = pitch, masked
        self.free = (product.rows, product.columns)[side]
        self.deep_last = product.is_deep_last(side)
        self.name = ("left", "right")[side]
        self.array = Name(self.body.name(self.name))
        self.present = Name(self.body.name("present")) if masked else None
        if not self._can_read(vector):
            self._can_read(1)

    def declare(self) -> None:
        """Declare where a thread reads, and the registers that its elements wait in."""
        body, thread = self.body, Name("threadIdx.x")
        at_deep, at_free = f"{self.name}_deep", f"{self.name}_{('row', 'column')[self.side]}"
        quick = self.along[0] if self.deep_last else self.along[1]
        names = (at_deep, at_free) if self.deep_last else (at_free, at_deep)
        first = body.let(self.index_kind, names[0], thread % quick)
        second = body.let(self.index_kind, names[1], thread / quick)
        self.own = (first, second) if self.deep_last else (second, first)
        count = self.passes[0] * self.passes[1]
        kind = self.kind if self.width == 1 else f"{self.kind}x{self.width}"
        self.waiting = body.variable(kind, f"next_{self.name}", size=count)
        self.there = (
            body.variable("pred", "next_there", size=count * self.width) if self.masked else None
        )

    def fetch(self, batch: Sum, deep: Expr) -> None:
        """Read a tile into registers; elements outside of the operand are zero.

        Parameters
        ----------
        deep : where the tile begins along the contraction.
        """
        with self._passes() as (e, f):
            self._fetch_pass(batch, deep, e, f)

    def bring(self, buffer: Expr) -> None:
        """Bring a tile from registers into shared memory.

        Parameters
        ----------
        buffer : the number of the part of shared memory.
        """
        body, width = self.body, self.width
        with self._passes() as (e, f):
            number = e * self.passes[1] + f
            if self.deep_last or width == 1:
                with body.loops(["i"], [width], unroll=True) as (i,):
                    here = item(self.waiting, number)
                    value = here if width == 1 else item(here, i)
                    at = self._in_tile(buffer, e, f, i)
                    body.assign(item(self.array, at), value)
                    if self.present and self.there:
                        flag = item(self.there, number * width + i)
                        body.assign(item(self.present, at), flag)
                return
            place = Cast(Pointer(f"{self.kind}x{width}"), self.array)
            at = self._in_tile(buffer, e, f, Sum(0), width)
            body.assign(item(place, at), item(self.waiting, number))
            if self.present and self.there:
                with body.loops(["i"], [width], unroll=True) as (i,):
                    at = self._in_tile(buffer, e, f, i)
                    body.assign(item(self.present, at), item(self.there, number * width + i))

    def _share_out(self, width: int) -> None:
        """Deal out a tile: how many threads lie along each side, and how often each reads."""
        self.width = width
        if self.deep_last:
            along = max(LEAST_DEEP // width, self.threads // self.size, 1)
            along = min(along, self.deep // width)
            self.along = along, self.threads // along
            self.reach = along * width, self.threads // along
        else:
            along = min(self.size // width, self.threads)
            self.along = self.threads // along, along
            self.reach = self.threads // along, along * width
        self.passes = self.deep // self.reach[0], self.size // self.reach[1]

    def _can_read(self, width: int) -> bool:
        """Let threads read so many neighbours at once, if that can be."""
        self._share_out(width)
        if width == 1:
            return True
        along = self.product.depth if self.deep_last else self.free
        if along % width or 0 in self.passes:
            return False
        with self.body.block():
            self.declare()
            return self._fetch_pass(Sum(0), Literal(0), Sum(0), Sum(0))

    def _passes(self) -> AbstractContextManager[Index]:
        return self.body.loops(["e", "f"], self.passes, unroll=True)

    def _in_tile(self, buffer: Expr, e: Sum, f: Sum, i: Sum, unit: int = 1) -> Expr:
        """Where an element, or a vector of `unit`, lies in shared memory."""
        deep, free = self.own
        pitch, size = self.pitch // unit, self.deep * self.pitch // unit
        if self.deep_last:
            more = e * (self.reach[0] * pitch) + i * pitch + f * self.reach[1]
            at = times(deep, self.width * pitch) + free
        else:
            more = e * (self.reach[0] * pitch) + f * (self.reach[1] // unit) + i
            at = deep * pitch + times(free, self.width // unit)
        at = added(at, more)
        return at if buffer == Literal(0) else buffer * size + at

    def _fetch_pass(self, batch: Sum, deep: Expr, e: Sum, f: Sum) -> bool:
        """One read of each thread; whether it is one of several neighbours at once."""
        body, width, product = self.body, self.width, self.product
        number = e * self.passes[1] + f
        at_deep, at_free = self._places(deep, e, f)
        inner = counter(body.name("i"), width)
        units = (width, 1) if self.deep_last else (1, width)
        deep_sum = counter(at_deep.name, product.depth // units[0]) * units[0]
        free_sum = counter(at_free.name, self.free // units[1]) * units[1]
        if self.deep_last:
            deep_sum = deep_sum + inner
        else:
            free_sum = free_sum + inner
        condition, index = product.operand(self.side, batch, free_sum, deep_sum)
        limits = self._limits(at_deep, product.depth, self.deep, units[0])
        limits += self._limits(at_free, self.free, self.size, units[1])
        if condition is not None:
            limits.append(condition)
            if width > 1 and not set(inner.names).isdisjoint(names_of(condition)):
                return False
        waiting = item(self.waiting, number)
        register = waiting if width == 1 else item(waiting, inner)
        flag = item(self.there, number * width + inner) if self.there else None
        if limits:
            with self._each(inner):
                body.assign(register, self.nothing)
                if flag:
                    body.assign(flag, 0)
        if condition == NEVER:
            return False
        with body.when(conjoined(limits) if limits else None):
            with body.block() as statements:
                body.assign(register, self.value(self.side, index))
                if flag:
                    body.assign(flag, 1)
            if width == 1:
                body.add(*live(statements))
                return False
            loop = Pack(self.kernel, inner.names[0], width).loop(statements)
            if loop is None:
                return False
            body.add(*loop)
        return True

    @contextmanager
    def _each(self, inner: Sum) -> Generator[None]:
        """Statements for each of a thread's neighbours."""
        with self.body.block() as statements:
            yield
        if self.width == 1:
            self.body.add(*statements)
        else:
            self.body.add(For(inner.names[0], self.width, tuple(statements), unroll=True))

    def _places(self, deep: Expr, e: Sum, f: Sum) -> tuple[Name, Name]:
        """The place along the contraction that a thread reads, and the row or column.

        One of both counts vectors, if they are read.
        """
        body, width, (own_deep, own_free) = self.body, self.width, self.own
        names = ["k", ("row", "column")[self.side]]
        reach = list(self.reach)
        if width > 1:
            along = 0 if self.deep_last else 1
            names[along] += "_vector"
            reach[along] //= width
        size = self.size
        if width > 1 and self.deep_last:
            deep = deep if deep == Literal(0) else deep / width
        elif width > 1:
            size //= width
        at = own_deep if deep == Literal(0) else deep + own_deep
        at_deep = body.let(self.index_kind, names[0], added(at, e * reach[0]))
        at = self.tile * size + own_free
        return at_deep, body.let(self.index_kind, names[1], added(at, f * reach[1]))

    def _limits(self, at: Name, count: int, size: int, unit: int) -> list[Expr]:
        """The condition that a place is in the operand, where tiles reach out of it."""
        return [binary("<", at, count // unit)] if count % size else []


def times(value: Expr, factor: int) -> Expr:
    """A multiple of a number."""
    return value if factor == 1 else value * factor


def added(value: Expr, more: Sum) -> Expr:
    """A number and a multiple of a loop's counter."""
    if more == Sum(0):
        return value
    if value == Literal(0):
        return spelled_out(more)
    return spelled_out(more, value)
