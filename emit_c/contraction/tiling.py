"""Sums of products over many dimensions, cut into register tiles.

Every output is a sum over the steps of a contraction: of a number of the input, which is read where
it is, times one of the kernel, which is packed in the order in which tiles read it. One dimension
of the output is laid across vector lanes, another becomes the rows of a tile, the others are loops
around. See `emit_c.contraction.cutting` and `emit_c.contraction.tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import TYPE_CHECKING

from codegen.elements.types import is_narrow, store
from codegen.expressions import (
    NEVER,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    array_of,
    binary,
    indexed,
    item,
)
from codegen.kinds import Table
from codegen.opcodes.folding import over
from codegen.statements import Assign, For
from codegen.walk import address_of
from emit_c.contraction.copying import column_of, row_of
from emit_c.contraction.cutting import Cutting, KernelPart, TileRun
from emit_c.contraction.tiles import result
from optimizer import machine
from optimizer.analysis.indexing import Sum, counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from codegen.elements.body import Body
    from emit_c.contraction.copying import Column
    from emit_c.contraction.dims import Dim
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index


@dataclass(frozen=True, slots=True)
class Pointers:
    """Pointers to the input, the packed kernel (if there is any), and the output."""

    input: Expr
    packed: Expr | None
    output: Expr


class Tiling(Cutting):
    """The loops over the tiles into which an output is cut."""

    def _first(self, body: Body, number: Sum, dim: Dim, side: int) -> Sum:
        """The first index of a tile in a dimension, by its number."""
        last = dim.size - side
        if (number * side).high <= last or not self._is_covered(dim, side):
            return number * side
        if not number.terms:
            return Sum(last)
        return unknown(body.let("s64", "first", _smaller(number * side, last)).name, 0, last)

    def write(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        kernel: Callable[[Sum, Index], Expr] | None,
    ) -> None:
        """Pack the kernel, and go through the tiles.

        Parameters
        ----------
        target : the output's type.
        kernel : gives the kernel's number for a feature and an index of the contraction; None if
            the whole of it is packed already, or read in place.
        """
        write = self._write_positions_first if self.cached else self._write_panels_first
        write(body, pointers, target, kernel)

    def _write_positions_first(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        kernel: Callable[[Sum, Index], Expr] | None,
    ) -> None:
        """Pack the whole kernel; then go through positions, and at each through the kernel."""
        panels, positions = [d.size for d in self.panels], [d.size for d in self.positions]
        names = "g" * (len(panels) + 1)
        if kernel is not None:
            with body.loops(names, [*panels, self.blocks], parallel=True) as (*at, block):
                begin = self._begin(tuple(at), block)
                self._pack(
                    body, pointers.packed, begin, KernelPart(tuple(at), block, Sum(0)), kernel
                )
        for chunk in range(self.chunks):
            with body.loops("p" * len(positions), positions, parallel=True) as position:
                for (row, rows), (at, block, run) in self._each_tile(body, target):
                    first = self._first(body, row, self.row, self.rows)
                    part = KernelPart(at, block, Sum(chunk))
                    along = {self.lane: block, self.row: row}.get(self.packed, Sum(0))
                    begin = self._begin(at, along) + self._chunk_size * chunk
                    self._tile(body, pointers, target, (position, first, part, begin), (rows, run))

    def _each_tile(
        self, body: Body, target: ElementType
    ) -> Iterator[tuple[tuple[Sum, int], tuple[Index, Sum, TileRun]]]:
        """Inside of loops over rows of tiles, and over runs of them; runs go first for few rows."""
        if self.has_few_rows:
            for run in self._each_run(body, target):
                for row in self._each_row(body):
                    yield row, run
            return
        for row in self._each_row(body):
            for run in self._each_run(body, target):
                yield row, run

    def _write_panels_first(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        kernel: Callable[[Sum, Index], Expr] | None,
    ) -> None:
        """Pack some panels of the kernel, and go through all positions for them; then the next."""
        panels, positions = [d.size for d in self.panels], [d.size for d in self.positions]
        sizes = [*panels, self.blocks // self.group]
        with body.loops("g" * len(sizes), sizes, parallel=True) as (*at, group):
            size = self.group * self._chunk_size
            here = pointers
            if kernel is not None:
                packed = body.own(str(self.kind), "panel", size, self.kind.bytes)
                here = replace(pointers, packed=packed)
            with body.loops(["chunk"], [self.chunks]) as (chunk,):
                apart = self.depth * self.side if kernel is None else self._chunk_size
                part = KernelPart(tuple(at), group * self.group, chunk)
                if kernel is not None:
                    self._pack(body, here.packed, Sum(0), part, kernel)
                with body.loops("p" * len(positions), positions) as position:
                    for row, rows in self._each_row(body):
                        first = self._first(body, row, self.row, self.rows)
                        for block, run in self._each_of_group(body, target, apart):
                            this = replace(part, block=part.block + block)
                            begin = block * self._chunk_size
                            if kernel is None:
                                begin = self._begin(part.panel, this.block)
                                begin = begin + chunk * self._chunk_size
                            where = position, first, this, begin
                            self._tile(body, here, target, where, (rows, run))

    def _each_row(self, body: Body) -> Iterator[tuple[Sum, int]]:
        """The loops over tiles below each other, with the number of each and its rows.

        The last tile may have fewer rows, if it must not meet the one before.
        """
        whole, rest = divmod(self.row.size, self.rows)
        if self._is_covered(self.row, self.rows):
            whole, rest = -(-self.row.size // self.rows), 0
        with body.loops(["row"], [whole], parallel=True) as (row,):
            yield row, self.rows
        if rest:
            yield Sum(whole), rest

    def _each_run(self, body: Body, target: ElementType) -> Iterator[tuple[Index, Sum, TileRun]]:
        """The loops over panels and blocks of lanes, with the offsets of the tiles of a call.

        Those are whole blocks beside each other; or, where there is one block, a panel's tiles.
        """
        panels = [d.size for d in self.panels]
        whole, rest = divmod(self.lane.size, self.width)
        if not self._is_stored_by_tiles(target):
            with body.loops("g" * (len(panels) + 1), [*panels, whole + (rest > 0)]) as (*at, block):
                yield tuple(at), block, self._run(1, 0)
            return
        few = self.has_few_rows
        if self.panels and whole + (rest > 0) == 1:
            d = self.panels[-1]
            groups = gcd(d.size, machine.LEAST_PANELS) if few else 1
            run = TileRun(d.size // groups, d.input, self._from_panel_to_panel, d.output)
            sizes = [*panels[:-1], groups]
            with body.loops("g" * len(sizes), sizes, parallel=few) as (*at, group):
                yield (*at, group * run.tiles), Sum(0), run
            return
        groups = gcd(whole, machine.LEAST_PANELS) if few else 1
        with body.loops("g" * len(panels), panels, parallel=few) as at:
            if whole:
                apart = self.width if self.in_place else self.depth * self.side
                with body.loops("g", [groups], parallel=few) as (group,):
                    yield at, group * (whole // groups), self._run(whole // groups, apart)
            if rest:
                yield at, Sum(whole), self._run(1, 0)

    def _each_of_group(
        self, body: Body, target: ElementType, apart: int
    ) -> Iterator[tuple[Sum, TileRun]]:
        """The runs of tiles of a group of blocks that are packed together.

        Parameters
        ----------
        apart : the distance of two blocks, in numbers.
        """
        if self._is_stored_by_tiles(target) and self.lane.size % self.width == 0:
            yield Sum(0), self._run(self.group, apart)
            return
        with body.loops(["block"], [self.group]) as (block,):
            yield block, self._run(1, 0)

    def _pack(
        self,
        body: Body,
        packed: Expr | None,
        begin: Sum,
        part: KernelPart,
        kernel: Callable[[Sum, Index], Expr],
    ) -> None:
        """Copy the kernel's numbers of a group of blocks.

        If the whole kernel is packed, for all steps of the contraction; else for those of a chunk.
        """
        assert packed is not None
        first = self.steps[0].size if self.cached else self.chunk
        sizes = [first, *(s.size for s in self.steps[1:])]
        column = self._column(body, part, sizes, kernel)
        if column is not None:
            self._pack_columns(body, (packed, begin), (part, sizes), kernel, column)
            return
        with body.loops(["t" for _ in sizes] + ["block"], [*sizes, self.group]) as (*steps, block):
            number = begin + linear((block, *steps), (self.group, *sizes)) * self.side
            here = replace(part, block=part.block + block)
            self._pack_row(body, (packed, number), here, tuple(steps), kernel)

    def _pack_row(
        self,
        body: Body,
        to: tuple[Expr, Sum],
        part: KernelPart,
        steps: Index,
        kernel: Callable[[Sum, Index], Expr],
    ) -> None:
        """Copy elements that lie side by side."""
        packed, number = to
        lane = name = body.name("j")
        first = self._first(body, part.block, self.packed, self.side)
        along: Sum = first + counter(lane, self.side)
        count: Expr = Literal(self.side)
        rest = not self._is_covered(self.packed, self.side)
        there = item(packed, number + counter(lane, self.side))
        with body.block() as statements, body.watched() as trace:
            if rest:
                # The last block has fewer; its index must not seem to go beyond them.
                name = body.let("s64", "along", indexed(along)).name
                along = unknown(name, 0, self.packed.size - 1)
                count = _smaller(part.block * -self.side + self.packed.size, self.side)
            body.assign(there, kernel(*self._of_kernel(part, along, steps)))
        row = row_of(statements, trace, self.kind, name)
        if row and row.step == 1:
            begin = row.first + first if rest else row.first
            row.copy(body, address_of(packed, number), begin, count, self.kind.bytes)
        else:
            body.add(over(lane, count if rest else self.side, statements))
        if rest:
            # Whatever is in lanes without outputs is multiplied, and that must not be slow, as it
            # is with numbers near 0.
            size = (Literal(self.side) - count) * self.kind.bytes
            body.call("__builtin_memset", address_of(packed, number) + count, 0, size)

    def _of_kernel(self, part: KernelPart, along: Sum, steps: Index) -> tuple[Sum, Index]:
        """The feature and the contraction's index of elements that are packed side by side."""
        feature = along * self.packed.feature
        for here, d in zip(part.panel, self.panels, strict=True):
            feature = feature + here * d.feature
        return feature, (steps[0] + part.chunk * self.chunk, *steps[1:])

    def _column(
        self,
        body: Body,
        part: KernelPart,
        sizes: Sequence[int],
        kernel: Callable[[Sum, Index], Expr],
    ) -> Column | None:
        """The access to the kernel whose last contracted dimension is innermost there."""
        steps = [counter(body.name("t"), size) for size in sizes]
        along = unknown(body.name("j"), 0, self.packed.size - 1)
        with body.block() as statements, body.watched() as trace:
            body.assign(Name("packed"), kernel(*self._of_kernel(part, along, tuple(steps))))
        return column_of(statements, trace, self.kind, along, list(zip(steps, sizes, strict=True)))

    def _pack_columns(
        self,
        body: Body,
        to: tuple[Expr, Sum],
        what: tuple[KernelPart, Sequence[int]],
        kernel: Callable[[Sum, Index], Expr],
        column: Column,
    ) -> None:
        """Copy block after block, and transpose each."""
        (packed, begin), (part, sizes) = to, what
        outer, inner = sizes[: -column.loops], sizes[-column.loops :]
        depth = prod(inner)
        rest = not self._is_covered(self.packed, self.side)
        with body.loops(["block"], [self.group]) as (block,):
            here = replace(part, block=part.block + block)
            first = self._first(body, here.block, self.packed, self.side)
            count: Expr = Literal(self.side)
            if rest:
                count = _smaller(here.block * -self.side + self.packed.size, self.side)
            with body.loops(["t" for _ in outer], outer) as steps:
                number = begin + linear((block, *steps), (self.group, *outer)) * (depth * self.side)
                with body.block(), body.watched() as trace:
                    kernel(*self._of_kernel(here, first, (*steps, *(Sum(0) for _ in inner))))
                into = address_of(packed, number)
                if rest:
                    size = depth * self.side * self.kind.bytes
                    body.call("__builtin_memset", into, 0, size)
                column.transpose(body, into, trace.loads[0], (depth, count, self.side))

    def _tile(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        where: tuple[Index, Sum, KernelPart, Sum],
        sizes: tuple[int, TileRun],
    ) -> None:
        """Call the function that computes a tile, or several of them.

        Parameters
        ----------
        where : position, first row, part of the kernel, and where that begins in the packed kernel.
        sizes : rows of a tile, and what tiles there are.
        """
        rows, run = sizes
        position, row, part, begin = where
        lane = self._first(body, part.block, self.lane, self.width)
        begin = self._begin_in_place(lane, part) if self.in_place else begin
        loops = [
            *zip(position, self.positions, strict=True),
            *zip(part.panel, self.panels, strict=True),
        ]
        into, to = part.chunk * (self.chunk * self.steps[0].input), Sum(0)
        for here, d in [*loops, (lane, self.lane), (row, self.row)]:
            into, to = into + here * d.input, to + here * d.output
        assert pointers.packed is not None
        factors = [address_of(pointers.input, into), address_of(pointers.packed, begin)]
        if self._rows_of_the_kernel:
            factors.reverse()
        tile, (row_step, *loops) = self._walk(rows)
        apart = (run.kernel, run.input) if self._rows_of_the_kernel else (run.input, run.kernel)
        count: Expr = Literal(self.width)
        adds: Expr = NEVER
        if not self._is_covered(self.lane, self.width):
            count = _smaller(part.block * -self.width + self.lane.size, self.width)
        if self.chunks > 1:
            adds = binary(">", indexed(part.chunk), 0)
        work = run.tiles * rows * self.width * self.depth // self.chunks
        output = address_of(pointers.output, to)
        steps = (run.tiles, *apart, run.output, row_step)
        if self._is_stored_by_tiles(target):
            walk = self._steps(body, (*steps, self.row.output, *loops))
            body.call(tile.name, *factors, output, walk, count, adds, work=work)
            return
        sums = body.variable(f"_Alignas(64) {self.kind}", "sums", size=rows * self.width)
        walk = self._steps(body, (*steps, self.width, *loops))
        body.call(tile.name, *factors, sums, walk, self.width, 0, work=work)
        self._store(body, sums, (output, target), (rows, count), adds)

    def _steps(self, body: Body, steps: Sequence[int]) -> Name:
        """The name of a constant array."""
        return body.variable(Table("s64"), "steps", array_of(steps), len(steps))

    def _store(
        self,
        body: Body,
        sums: Expr,
        result_at: tuple[Expr, ElementType],
        sizes: tuple[int, Expr],
        adds: Expr,
    ) -> None:
        """Convert a tile's sums, and store them one after the other, in the order of memory.

        Parameters
        ----------
        result_at : the pointer to the first output, and the type.
        sizes : rows and lanes that are outputs.
        """
        (output, target), (rows, count) = result_at, sizes
        i, j = Name(body.name("i")), Name(body.name("j"))

        def stored(row: Expr | int) -> Assign:
            there = item(Group(output), row * self.row.output + j * self.lane.output)
            value = result(item(sums, row * self.width + j), self.kind, target)
            if adds != NEVER and not is_narrow(target):
                value = Group(value) + Group(Choose(adds, there, Literal(0)))
            return Assign(there, store(target, value))

        if rows in machine.SHORT_LOOPS and self.lane.output == rows * self.row.output:
            # Compilers interleave so few rows by shuffles.
            body.add(For(j.name, count, tuple(map(stored, range(rows))), simd=True))
            return
        known = int(count.value) if isinstance(count, Literal) else count
        inner: tuple[str, int | Expr] = (j.name, known)
        outer: tuple[str, int | Expr] = (i.name, rows)
        if self.lane.output > self.row.output:
            inner, outer = outer, inner
        body.add(For(*outer, (For(*inner, (stored(i),), simd=True),)))


def _smaller(value: Sum, bound: int) -> Expr:
    """The smaller of both."""
    if value.low >= bound:
        return Literal(bound)
    if value.high <= bound:
        return indexed(value)
    number = indexed(value)
    return Group(Choose(binary("<", number, bound), number, Literal(bound)))
