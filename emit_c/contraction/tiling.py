"""Sums of products over many dimensions, cut into register tiles.

Every output is a sum over the steps of a contraction: of a number of the input, which is read where
it is, times one of the kernel, which is packed in the order in which tiles read it. One dimension
of the output is laid across vector lanes, another becomes the rows of a tile, the others are loops
around. See `cutting`, `panels` and `tiles` of `emit_c.contraction`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING

from codegen.elements.types import store
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
from codegen.kinds import Table, is_narrow
from codegen.statements import Assign, For
from codegen.walk import address_of
from emit_c.contraction.cutting import LEAST_PANELS, KernelPart, TileRun
from emit_c.contraction.panels import Packing, smaller
from emit_c.contraction.tiles import result
from hlo.support import machine
from optimizer.analysis.indexing import Sum, counter
from optimizer.dimensions import largest_divisor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from emit_c.contraction.panels import Numbers
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index

TILES_OF_A_RUN = 8
"""Measured: tiles of a run of tiles beside each other, if a chunk of steps has so many; threads
share runs. With 4, products of 12 to 32 rows by 4096 x 1024 numbers take 1.1 to 1.2 times as long;
with 16, 0.9 to 1 times, but fewer threads have work. No benchmark's C changes with 4 or 16."""
LEAST_SHARE = 0.1
"""Measured: the share of a core that the register tiles of a product must use to be better than
plain loops. Without it conjugate gradients take 1.32 times as long. Convolutions without padding
always have tiles: plain loops take 1.7 to 2.8 times as long, be the share ever so small."""


@dataclass(frozen=True, slots=True)
class Pointers:
    """Pointers to the input, the packed kernel (if there is any), and the output of some type."""

    input: Expr
    packed: Expr | None
    output: Expr
    target: ElementType


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a tile: position, first row, part of the kernel, and where that is packed."""

    position: Index
    row: Sum
    part: KernelPart
    begin: Sum


class Tiling(Packing):
    """The loops over the tiles into which an output is cut."""

    def write(self, body: Body, pointers: Pointers, kernel: Numbers | None) -> None:
        """Pack the kernel, and go through the tiles.

        Parameters
        ----------
        kernel : gives the kernel's numbers; None if the whole of it is packed already, or read in
            place.
        """
        write = self._write_positions_first if self.cached else self._write_panels_first
        write(body, pointers, kernel)

    def _write_positions_first(
        self, body: Body, pointers: Pointers, kernel: Numbers | None
    ) -> None:
        """Pack the whole kernel; then go through positions, and at each through the kernel."""
        panels, positions = [d.size for d in self.panels], [d.size for d in self.positions]
        names = "g" * (len(panels) + 1)
        if kernel is not None:
            with body.loops(names, [*panels, self.blocks], parallel=True) as (*at, block):
                part = KernelPart(tuple(at), block, Sum(0))
                self.pack(body, pointers.packed, self._begin(part.panel, block), part, kernel)
        if self.has_few_rows:
            self._write_columns_first(body, pointers)
            return
        for chunk in range(self.chunks):
            with body.loops("p" * len(positions), positions, parallel=True) as position:
                for row, rows in self._each_row(body):
                    for at, block, run in self._each_run(body, pointers.target):
                        first = self.first(body, row, self.row, self.rows)
                        part = KernelPart(at, block, Sum(chunk))
                        along = {self.lane: block, self.row: row}.get(self.packed, Sum(0))
                        begin = self._begin(at, along) + self._chunk_size * chunk
                        self._tile(body, pointers, Place(position, first, part, begin), rows, run)

    def _write_columns_first(self, body: Body, pointers: Pointers) -> None:
        """Go through columns of a kernel in place, and for each through few rows.

        Of columns that are no multiple of a tile's, the last tile takes all steps at once, since it
        shares some with the tile before, to whose sums it must not add.
        """
        first = self.steps[0].size
        for at, block, run in self._each_run(body, pointers.target):
            is_last = block == Sum(self.lane.size // self.width)
            taken = first if is_last else self.chunk
            with body.loops(["chunk"], [first // taken]) as (chunk,):
                self._write_rows(body, pointers, KernelPart(at, block, chunk), run, taken)
            if rest := first % taken:
                part = KernelPart(at, block, Sum(first // taken))
                self._write_rows(body, pointers, part, run, rest)

    def _write_rows(
        self, body: Body, pointers: Pointers, part: KernelPart, run: TileRun, taken: int
    ) -> None:
        """Go through few rows for some steps of a kernel in place."""
        for row, rows in self._each_row(body):
            place = Place((), self.first(body, row, self.row, self.rows), part, Sum(0))
            self._tile(body, pointers, place, rows, run, taken)

    def _write_panels_first(self, body: Body, pointers: Pointers, kernel: Numbers | None) -> None:
        """Pack some panels of the kernel, and go through all positions for them; then the next.

        Many rows are gone through in blocks, one after the other: so a thread reads few rows that
        another one has just written, and that are in the cache of that one's processor.
        """
        panels, positions = [d.size for d in self.panels], [d.size for d in self.positions]
        sizes = [self.row_blocks, *panels, self.blocks // self.group]
        names = ["rows", *("g" for _ in sizes[1:])]
        with body.loops(names, sizes, parallel=True) as (row_block, *at, group):
            size = self.group * self._chunk_size
            here = pointers
            if kernel is not None:
                packed = body.own(str(self.kind), "panel", size, self.kind.bytes)
                here = replace(pointers, packed=packed)
            with body.loops(["chunk"], [self.chunks]) as (chunk,):
                apart = self.depth * self.side if kernel is None else self._chunk_size
                part = KernelPart(tuple(at), group * self.group, chunk)
                if kernel is not None:
                    self.pack(body, here.packed, Sum(0), part, kernel)
                with body.loops("p" * len(positions), positions) as position:
                    for row, rows in self._each_row(body, row_block):
                        first = self.first(body, row, self.row, self.rows)
                        for block, run in self._each_of_group(body, pointers.target, apart):
                            this = replace(part, block=part.block + block)
                            # What is packed here begins with this group; else all panels are there.
                            begin = block * self._chunk_size
                            if kernel is None:
                                begin = self._begin(part.panel, this.block)
                                begin = begin + chunk * self._chunk_size
                            place = Place(position, first, this, begin)
                            self._tile(body, here, place, rows, run)

    def _each_row(self, body: Body, block: Sum | None = None) -> Iterator[tuple[Sum, int]]:
        """The loops over tiles below each other, with the number of each and its rows.

        The last tile may have fewer rows, if it must not meet the one before.

        Parameters
        ----------
        block : the number of the block of rows; None for all rows.
        """
        whole, rest = divmod(self.row.size, self.rows)
        if self._is_covered(self.row, self.rows):
            whole, rest = -(-self.row.size // self.rows), 0
        if block is not None and self.row_blocks > 1:
            name, rows_per_part = body.name("row"), -(-whole // self.row_blocks)
            with body.block() as statements:
                yield counter(name, whole), self.rows
            begin, end = indexed(block * rows_per_part), smaller((block + 1) * rows_per_part, whole)
            body.add(For(name, end, tuple(statements), start=begin, parallel=True))
            return
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
            groups = gcd(d.size, LEAST_PANELS) if few else 1
            run = TileRun(d.size // groups, d.input, self._from_panel_to_panel, d.output)
            sizes = [*panels[:-1], groups]
            with body.loops("g" * len(sizes), sizes, parallel=few) as (*at, group):
                yield (*at, group * run.tiles), Sum(0), run
            return
        groups = self._groups(whole) if few else 1
        with body.loops("g" * len(panels), panels, parallel=few) as at:
            if whole:
                apart = self.width if self.in_place else self.depth * self.side
                with body.loops("g", [groups], parallel=few) as (group,):
                    yield at, group * (whole // groups), self._run(whole // groups, apart)
            if rest:
                yield at, Sum(whole), self._run(1, 0)

    def _groups(self, tiles: int) -> int:
        """The number of runs into which tiles beside each other are cut, which threads share."""
        most = tiles // TILES_OF_A_RUN if self.in_chunks else tiles
        return largest_divisor(tiles, min(LEAST_PANELS, max(2, most)))

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

    def _tile(
        self,
        body: Body,
        pointers: Pointers,
        place: Place,
        rows: int,
        run: TileRun,
        taken: int | None = None,
    ) -> None:
        """Call the function that computes a tile of some rows, or a run of them.

        Parameters
        ----------
        taken : of the outermost steps, if not a whole chunk.
        """
        taken = self.chunk if taken is None else taken
        part, target = place.part, pointers.target
        lane = self.first(body, part.block, self.lane, self.width)
        begin = self._begin_in_place(lane, part) if self.in_place else place.begin
        loops = [
            *zip(place.position, self.positions, strict=True),
            *zip(part.panel, self.panels, strict=True),
        ]
        into, to = part.chunk * (self.chunk * self.steps[0].input), Sum(0)
        for here, d in [*loops, (lane, self.lane), (place.row, self.row)]:
            into, to = into + here * d.input, to + here * d.output
        assert pointers.packed is not None
        factors = [address_of(pointers.input, into), address_of(pointers.packed, begin)]
        if self._rows_of_the_kernel:
            factors.reverse()
        tile, (row_step, *loops) = self._walk(rows, taken)
        apart = (run.kernel, run.input) if self._rows_of_the_kernel else (run.input, run.kernel)
        count: Expr = Literal(self.width)
        adds: Expr = NEVER
        if not self._is_covered(self.lane, self.width):
            count = smaller(part.block * -self.width + self.lane.size, self.width)
        if taken < self.steps[0].size:
            adds = binary(">", indexed(part.chunk), 0)
        work = run.tiles * rows * self.width * self.depth * taken // max(1, self.steps[0].size)
        output = address_of(pointers.output, to)
        steps = (run.tiles, *apart, run.output, row_step)
        if self._is_stored_by_tiles(target):
            walk = self._steps(body, (*steps, self.row.output, *loops))
            body.call(tile, *factors, output, walk, count, adds, work=work)
            return
        sums = body.variable(f"_Alignas(64) {self.kind}", "sums", size=rows * self.width)
        walk = self._steps(body, (*steps, self.width, *loops))
        body.call(tile, *factors, sums, walk, self.width, 0, work=work)
        self._store(body, sums, output, target, rows, count, adds)

    def _steps(self, body: Body, steps: Sequence[int]) -> Name:
        """The name of a constant array."""
        return body.variable(Table("s64"), "steps", array_of(steps), len(steps))

    def _store(
        self,
        body: Body,
        sums: Expr,
        output: Expr,
        target: ElementType,
        rows: int,
        count: Expr,
        adds: Expr,
    ) -> None:
        """Convert a tile's sums, and store them one after the other, in the order of memory.

        Parameters
        ----------
        output : the pointer to the first output.
        rows, count : rows, and lanes, that are outputs.
        """
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
