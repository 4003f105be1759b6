"""Sums of products over many dimensions, cut into register tiles.

Every output is a sum over the steps of a contraction: of a number of the input, which is read where
it is, times one of the kernel, which is packed in the order in which tiles read it. One dimension
of the output is laid across vector lanes, another becomes the rows of a tile, the others are loops
around. See `emit_c.tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from emit_c.folding import over
from emit_c.indexing import Sum, counter, linear
from emit_c.tiles import Tile, lanes_for, rows_for, tile_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_c.body import Body
    from emit_c.indexing import Index
    from hlo.element_type import ElementType

# A packed kernel of so many bytes stays in the cache while all places are gone through, and so
# many bytes of a larger one's panel.
CACHED, CACHED_PANEL = 1 << 19, 1 << 18
# Sums that are independent of each other keep a processor busy from so many vectors on.
BUSY = 10
# What it costs to write lanes that are no neighbours in the output.
SCATTERED = 0.8
VECTOR_BYTES = 64


@dataclass(frozen=True, slots=True)
class Dim:
    """A dimension of the output: its size, and steps in the input, the output and the features.

    Features number the kernel's columns; all other dimensions, `places`, share its numbers.
    """

    size: int
    input: int
    output: int
    feature: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A dimension of the contraction: its size, and step in the input."""

    size: int
    input: int


@dataclass(frozen=True, slots=True)
class Pointers:
    """Where the input, memory for the packed kernel, and the output begin, as C."""

    input: str
    packed: str
    output: str


class Tiling:
    """How an output is cut into tiles.

    Parameters
    ----------
    dims : of the output; those of size 1 do not matter.
    steps : of the contraction, outermost first.
    kind, target : types of the sums and of the output; with `adds`, the output's numbers are sums
        to begin with.

    Attributes
    ----------
    lane, row : the dimensions that make up a tile.
    share : of a processor's lanes that is used.
    cached : whether the packed kernel stays in the cache while all places are gone through. If so,
        it needs memory for `packed_size` numbers, and places are outermost; else panels of it are.
    """

    def __init__(
        self, dims: Sequence[Dim], steps: Sequence[Step], kind: ElementType, target: ElementType
    ) -> None:
        self.kind, self.target, self.steps = kind, target, tuple(steps)
        dims = [d for d in dims if d.size != 1] or [Dim(1, 0, 1, 1)]
        self.share, self.lane, self.row = _best(dims, kind)
        self.vectors, self.lanes = lanes_for(self.lane.size, kind)
        self.width = self.vectors * self.lanes
        self.rows = rows_for(self.row.size, self.vectors)
        self.depth = prod(s.size for s in steps)
        outer = [d for d in dims if d not in (self.lane, self.row)]
        self.panels = [d for d in outer if d.feature]
        self.places = [d for d in outer if not d.feature]
        # What the kernel is packed along, and numbers that lie side by side then.
        self.packed = next((d for d in (self.lane, self.row) if d.feature), Dim(1, 0, 0))
        self.side = {self.lane: self.width, self.row: self.rows}.get(self.packed, 1)
        self.blocks = -(-self.packed.size // self.side)
        whole = prod(d.size for d in self.panels) * self.blocks * self.depth * self.side
        self.cached = whole * kind.bytes <= CACHED or self.packed is not self.lane
        self.packed_size = whole if self.cached else 0

    @property
    def reads_behind(self) -> bool:
        """Whether tiles read behind the input's last number, in lanes that are not used."""
        return self.lane.input != 0 and self.lane.size % self.width != 0

    # ----------------------------------------------------------------- loops

    def write(self, body: Body, pointers: Pointers, kernel: Callable[[Sum, Index], str]) -> None:
        """Pack the kernel, and go through the tiles.

        Parameters
        ----------
        kernel : gives the kernel's number for a feature and an index of the contraction.
        """
        (self._write_places_first if self.cached else self._write_panels_first)(
            body, pointers, kernel
        )

    def _write_places_first(
        self, body: Body, pointers: Pointers, kernel: Callable[[Sum, Index], str]
    ) -> None:
        """Pack the whole kernel; then go through places, and at each of them through the kernel."""
        panels, places = [d.size for d in self.panels], [d.size for d in self.places]
        names = "g" * (len(panels) + 1)
        with body.loops(names, [*panels, self.blocks], parallel=True) as (*at, block):
            panel = (tuple(at), block)
            self._pack(body, pointers.packed, panel, self._begin(panel), kernel)
        sizes = [*places, *panels, -(-self.lane.size // self.width)]
        with body.loops("p" * len(places) + names, sizes, parallel=True) as index:
            place, at = index[: len(places)], index[len(places) : -1]
            self._rows(body, pointers, place, (at, index[-1]), None)

    def _write_panels_first(
        self, body: Body, pointers: Pointers, kernel: Callable[[Sum, Index], str]
    ) -> None:
        """Pack a panel of the kernel, and go through all places for it; then the next."""
        panels, places = [d.size for d in self.panels], [d.size for d in self.places]
        names = "g" * (len(panels) + 1)
        with body.loops(names, [*panels, self.blocks], parallel=True) as (*at, block):
            size = self.depth * self.side
            here = replace(
                pointers, packed=body.own(str(self.kind), "panel", size, self.kind.bytes)
            )
            panel = (tuple(at), block)
            self._pack(body, here.packed, panel, Sum(0), kernel)
            chunk = self._chunk()
            chunks = self.steps[0].size // chunk if self.steps else 1
            with body.loops(["chunk", *("p" * len(places))], [chunks, *places]) as (part, *place):
                self._rows(body, here, tuple(place), panel, (part, chunk))

    def _chunk(self) -> int:
        """How many of the outermost steps are taken at once, so that a panel stays in the cache."""
        if not self.steps or self.kind is not self.target:
            return self.steps[0].size if self.steps else 1
        size = self.steps[0].size
        most = CACHED_PANEL // (self.depth // size * self.side * self.kind.bytes)
        return next(n for n in range(max(1, min(most, size)), 0, -1) if size % n == 0)

    def _pack(
        self,
        body: Body,
        packed: str,
        panel: tuple[Index, Sum],
        begin: Sum,
        kernel: Callable[[Sum, Index], str],
    ) -> None:
        """Copy the kernel's numbers of one block of features, for all steps of the contraction."""
        at, block = panel
        rest = self.packed.size % self.side
        lane = body.name("j")
        with body.loops("t" * len(self.steps), [s.size for s in self.steps]) as steps:
            j = counter(lane, self.side)
            feature = (block * self.side + j) * self.packed.feature
            for here, d in zip(at, self.panels, strict=True):
                feature = feature + here * d.feature
            place = linear((*steps, j), (*(s.size for s in self.steps), self.side)) + begin
            with body.block() as statements:
                body.assign(f"{packed}[{place.text}]", kernel(feature, steps))
            made = over(lane, self.side, statements)
            there = block * -self.side + self.packed.size
            body.add(replace(made, stop=_smaller(there, self.side)) if rest else made)

    def _begin(self, panel: tuple[Index, Sum]) -> Sum:
        """Where a block of the packed kernel begins."""
        at, block = panel
        sizes = (*(d.size for d in self.panels), self.blocks)
        return linear((*at, block), sizes) * (self.depth * self.side)

    def _rows(
        self,
        body: Body,
        pointers: Pointers,
        place: Index,
        panel: tuple[Index, Sum],
        part: tuple[Sum, int] | None,
    ) -> None:
        """The tiles below each other; the last may be of fewer rows."""
        whole, rest = divmod(self.row.size, self.rows)
        with body.loops(["row"], [whole]) as (row,):
            self._tile(body, pointers, (place, panel, row, part), self.rows)
        if rest:
            self._tile(body, pointers, (place, panel, Sum(whole), part), rest)

    def _tile(
        self,
        body: Body,
        pointers: Pointers,
        where: tuple[Index, tuple[Index, Sum], Sum, tuple[Sum, int] | None],
        rows: int,
    ) -> None:
        """Call the function that computes a tile."""
        place, (at, block), row, part = where
        steps, number, chunk = self.steps, Sum(0), 1
        into, to = Sum(0), Sum(0)
        loops = [*zip(place, self.places, strict=True), *zip(at, self.panels, strict=True)]
        loops += [(block * self.width, self.lane), (row * self.rows, self.row)]
        for here, d in loops:
            into, to = into + here * d.input, to + here * d.output
        along = {self.lane: block, self.row: row}.get(self.packed, Sum(0))
        kernel = self._begin((at, along)) if self.cached else Sum(0)
        adds = "0"
        if part and steps:
            number, chunk = part
            into = into + number * (chunk * steps[0].input)
            kernel = kernel + number * (self.depth // steps[0].size * chunk * self.side)
            steps = (Step(chunk, steps[0].input), *steps[1:])
            adds = f"{number.text} > 0"
        count = block * -self.width + self.lane.size
        tile = self._sizes(rows, steps)
        name = body.function("tile", lambda name: tile_text(tile, name))
        body.call(
            name,
            f"{pointers.input} + {into.text}",
            f"{pointers.packed} + {kernel.text}",
            f"{pointers.output} + {to.text}",
            count.text,
            adds,
            work=2 * rows * self.width * prod(s.size for s in steps),
        )

    def _sizes(self, rows: int, steps: Sequence[Step]) -> Tile:
        return Tile(
            kind=self.kind,
            target=self.target,
            rows=rows,
            vectors=self.vectors,
            lanes=self.lanes,
            steps=_joined(steps),
            input_row=self.row.input,
            kernel_row=1 if self.row.feature else 0,
            output_row=self.row.output,
            kernel_step=self.side,
            input_lanes=self.lane.input == 1,
            kernel_lanes=self.lane.feature != 0,
            output_lane=self.lane.output,
        )


def _smaller(value: Sum, bound: int) -> str:
    """The smaller of both, as C."""
    if value.high <= bound:
        return value.text
    return f"({value.text} < {bound} ? {value.text} : {bound})"


def _joined(steps: Sequence[Step]) -> tuple[tuple[int, int], ...]:
    """Sizes and steps of loops, those joined through which one loop leads."""
    found: list[tuple[int, int]] = []
    for step in steps:
        if found and found[-1][1] == step.input * step.size:
            found[-1] = (found[-1][0] * step.size, step.input)
        elif step.size != 1:
            found.append((step.size, step.input))
    return tuple(found)


def _best(dims: Sequence[Dim], kind: ElementType) -> tuple[float, Dim, Dim]:
    """The share of the processor that the best tile uses, its lane and its row.

    Numbers of different lanes must be neighbours in the input, or one number that all share. The
    kernel is packed along lanes or along rows.
    """
    one = Dim(1, 0, 0)
    best = ((0.0, False, 0), dims[0], one)
    for lane in (d for d in dims if d.input <= 1):
        vectors, lanes = lanes_for(lane.size, kind)
        width = vectors * lanes
        used = lane.size / (-(-lane.size // width) * width) * lanes * kind.bytes / VECTOR_BYTES
        used *= 1 if lane.output == 1 else SCATTERED
        others = [d for d in dims if d is not lane and not (d.feature and lane.feature)]
        for row in others or [one]:
            share = used * min(1.0, rows_for(row.size, vectors) * vectors / BUSY)
            score = (round(share, 2), lane.output == 1, -row.input)
            if score > best[0]:
                best = (score, lane, row)
    return best[0][0], best[1], best[2]
