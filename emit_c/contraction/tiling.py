"""Sums of products over many dimensions, cut into register tiles.

Every output is a sum over the steps of a contraction: of a number of the input, which is read where
it is, times one of the kernel, which is packed in the order in which tiles read it. One dimension
of the output is laid across vector lanes, another becomes the rows of a tile, the others are loops
around. See `emit_c.contraction.tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.code.indexing import Sum, counter, linear, unknown
from emit_c.code.loops import Assign, For
from emit_c.contraction.dims import Dim, Step, best_tile
from emit_c.contraction.tiles import Tile, rows_for, tile_text
from emit_c.opcodes.folding import over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from emit_c.code.indexing import Index
    from emit_c.kernels.body import Body
    from hlo.element_type import ElementType

# A packed kernel of so many bytes stays in the cache while all places are gone through, and so
# many bytes of a larger one's panels.
CACHED, CACHED_PANELS = 1 << 19, 1 << 18
# Panels that are packed together, so that the kernel is read in longer runs.
WIDEST = 8
# Numbers so far apart are fetched one by one: vectors of them are no faster, and longer to compile.
FAR = 512
# To write a tile's sums takes as long as so many products.
FEW_STEPS = 64
# To pack a kernel is not worth it for so few tiles below each other.
FEW_TILES = 3


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
    kind : the type in which products are summed up.
    exact : if given, sums of so many products are exact in that type; longer ones are added up in
        the output.
    stride : if given, the kernel lies in memory as [batch, steps, features], with so many features.

    Attributes
    ----------
    lane, row : the dimensions that make up a tile.
    share : of a processor's lanes that is used.
    cached : whether the packed kernel stays in the cache while all places are gone through. If so,
        it needs memory for `packed_size` numbers, and places are outermost; else panels of it are.
    in_place : whether the kernel is not packed, but read where it is.
    chunks : the outermost steps are taken in so many parts; if more than one, tiles add to what the
        output holds already.
    """

    def __init__(
        self,
        dims: Sequence[Dim],
        steps: Sequence[Step],
        kind: ElementType,
        exact: int | None = None,
        stride: int | None = None,
    ) -> None:
        self.kind, self.steps, self.exact = kind, tuple(steps) or (Step(1, 0),), exact
        self.stride = stride
        dims = [d for d in dims if d.size != 1] or [Dim(1, 0, 1, 1)]
        self.share, self.lane, self.row, (self.vectors, self.lanes) = best_tile(dims, kind)
        self.width = self.vectors * self.lanes
        self.rows = rows_for(self.row.size, self.vectors)
        self.depth = prod(s.size for s in self.steps)
        outer = [d for d in dims if d not in (self.lane, self.row)]
        self.panels = [d for d in outer if d.feature]
        self.places = [d for d in outer if not d.feature]
        # What the kernel is packed along, and numbers that lie side by side then.
        self.packed = next((d for d in (self.lane, self.row) if d.feature), Dim(1, 0, 0))
        self.side = {self.lane: self.width, self.row: self.rows}.get(self.packed, 1)
        self.blocks = -(-self.packed.size // self.side)
        whole = prod(d.size for d in self.panels) * self.blocks * self.depth * self.side
        self.cached = whole * kind.bytes <= CACHED or self.packed is not self.lane
        self.in_place = self.cached and self._is_in_place()
        self.packed_size = whole if self.cached and not self.in_place else 0
        self.group = 1 if self.cached else _divisor(self.blocks, min(self.blocks // 8, WIDEST))
        first = self.steps[0].size
        self.chunk = self._outermost_steps(exact or self.depth)
        self.chunks = first // self.chunk if first else 1

    def _is_in_place(self) -> bool:
        """Whether whole vectors of the kernel are read too rarely to be worth packing."""
        below = prod(d.size for d in self.places) * -(-self.row.size // self.rows)
        whole = self.lane.feature == 1 and self.lane.size % self.width == 0
        return self.stride is not None and whole and below <= FEW_TILES

    def _outermost_steps(self, most: int) -> int:
        """How many of the outermost steps are taken at once, for at most so many products.

        As many as keep the packed panels in the cache; but if those are few, because the number of
        steps has no suitable divisor, then as many as there may be.
        """
        first = self.steps[0].size
        if self.depth == 0:
            return first
        rest = self.depth // first
        if not self.cached:
            panels = self.group * self.side * self.kind.bytes
            chunk = _divisor(first, min(most, CACHED_PANELS // panels) // rest)
            if chunk * rest >= FEW_STEPS:
                return chunk
        return _divisor(first, most // rest)

    @property
    def reads_behind(self) -> bool:
        """Whether tiles read behind the input's last number, in lanes that are not used."""
        return self.lane.input != 0 and self.lane.size % self.width != 0

    # ----------------------------------------------------------------- loops

    def write(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        kernel: Callable[[Sum, Index], str] | None,
    ) -> None:
        """Pack the kernel, and go through the tiles.

        Parameters
        ----------
        target : the output's type.
        kernel : gives the kernel's number for a feature and an index of the contraction; None if
            the whole of it is packed already, or read in place.
        """
        write = self._write_places_first if self.cached else self._write_panels_first
        write(body, pointers, target, kernel)

    def _write_places_first(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        kernel: Callable[[Sum, Index], str] | None,
    ) -> None:
        """Pack the whole kernel; then go through places, and at each of them through the kernel."""
        panels, places = [d.size for d in self.panels], [d.size for d in self.places]
        names = "g" * (len(panels) + 1)
        if kernel is not None:
            with body.loops(names, [*panels, self.blocks], parallel=True) as (*at, block):
                begin = self._begin(tuple(at), block)
                self._pack(body, pointers.packed, begin, _Part(tuple(at), block, Sum(0)), kernel)
        sizes = [*panels, -(-self.lane.size // self.width)]
        for chunk in range(self.chunks):
            with body.loops("p" * len(places), places, parallel=True) as place:
                for row, rows in self._each_row(body):
                    with body.loops(names, sizes) as (*at, block):
                        part = _Part(tuple(at), block, Sum(chunk))
                        along = {self.lane: block, self.row: row}.get(self.packed, Sum(0))
                        begin = self._begin(part.panel, along) + self._chunk_size * chunk
                        if self.in_place:
                            begin = self._begin_in_place(part, chunk)
                        self._tile(body, pointers, target, (place, row, part, begin), rows)

    def _write_panels_first(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        kernel: Callable[[Sum, Index], str] | None,
    ) -> None:
        """Pack some panels of the kernel, and go through all places for them; then the next."""
        panels, places = [d.size for d in self.panels], [d.size for d in self.places]
        sizes = [*panels, self.blocks // self.group]
        with body.loops("g" * len(sizes), sizes, parallel=True) as (*at, group):
            size = self.group * self._chunk_size
            here = pointers
            if kernel is not None:
                packed = body.own(str(self.kind), "panel", size, self.kind.bytes)
                here = replace(pointers, packed=packed)
            with body.loops(["chunk"], [self.chunks]) as (chunk,):
                part = _Part(tuple(at), group * self.group, chunk)
                if kernel is not None:
                    self._pack(body, here.packed, Sum(0), part, kernel)
                with body.loops("p" * len(places), places) as place:
                    for row, rows in self._each_row(body):
                        with body.loops(["block"], [self.group]) as (block,):
                            this = replace(part, block=part.block + block)
                            begin = block * self._chunk_size
                            if kernel is None:
                                begin = self._begin(part.panel, this.block)
                                begin = begin + chunk * self._chunk_size
                            self._tile(body, here, target, (place, row, this, begin), rows)

    def _each_row(self, body: Body) -> Iterator[tuple[Sum, int]]:
        """Inside of loops over the tiles below each other: which it is, and how many rows it has.

        The last tile may have fewer rows.
        """
        whole, rest = divmod(self.row.size, self.rows)
        with body.loops(["row"], [whole], parallel=True) as (row,):
            yield row, self.rows
        if rest:
            yield Sum(whole), rest

    # --------------------------------------------------------------- packing

    @property
    def _chunk_size(self) -> int:
        """Numbers that a packed block has for one chunk of the steps."""
        return self.depth // max(1, self.chunks) * self.side

    def _begin(self, panel: Index, block: Sum) -> Sum:
        """Where a block begins in a kernel that is packed as a whole."""
        sizes = (*(d.size for d in self.panels), self.blocks)
        return linear((*panel, block), sizes) * (self.depth * self.side)

    def _begin_in_place(self, part: _Part, chunk: int) -> Sum:
        """Where a block begins in a kernel that is read where it is."""
        assert self.stride is not None
        begin = part.block * self.width + chunk * (self.depth // self.chunks) * self.stride
        for here, d in zip(part.panel, self.panels, strict=True):
            batch = d.feature >= self.stride
            begin = begin + here * (d.feature * self.depth if batch else d.feature)
        return begin

    def packed_numbers(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """A kernel packed as a whole.

        Parameters
        ----------
        numbers : shape (features, depth).
        """
        panels = [np.arange(d.size) * d.feature for d in self.panels]
        along = np.arange(self.blocks * self.side)
        inside = along < self.packed.size
        features: Any = sum(np.ix_(*panels, along * inside * self.packed.feature))
        chosen: Any = np.where(inside[:, None], numbers[features], numbers.dtype.type(0))
        chosen = chosen.reshape(-1, self.blocks, self.side, self.depth)
        return np.ascontiguousarray(chosen.swapaxes(-1, -2))

    def _pack(
        self,
        body: Body,
        packed: str,
        begin: Sum,
        part: _Part,
        kernel: Callable[[Sum, Index], str],
    ) -> None:
        """Copy the kernel's numbers of a group of blocks.

        If the whole kernel is packed, for all steps of the contraction; else for those of a chunk.
        """
        first = self.steps[0].size if self.cached else self.chunk
        sizes = [first, *(s.size for s in self.steps[1:])]
        lane = body.name("j")
        with body.loops(["t" for _ in sizes] + ["block"], [*sizes, self.group]) as (*steps, block):
            place = begin + linear(
                (block, *steps, counter(lane, self.side)), (self.group, *sizes, self.side)
            )
            along = (part.block + block) * self.side + counter(lane, self.side)
            rest = self.packed.size % self.side
            at = (steps[0] + part.chunk * self.chunk, *steps[1:])
            name = lane
            with body.block() as statements, body.watched() as trace:
                if rest:
                    # The last block has fewer; its index must not seem to go beyond them.
                    name = body.let("s64", "along", along.text)
                    along = unknown(name, 0, self.packed.size - 1)
                feature = along * self.packed.feature
                for here, d in zip(part.panel, self.panels, strict=True):
                    feature = feature + here * d.feature
                body.assign(f"{packed}[{place.text}]", kernel(feature, at))
            made = over(lane, self.side, statements)
            far = (f >= FAR for load in trace.loads for a, f in load.terms if a.text == name)
            made = replace(made, simd=made.simd and not any(far))
            if rest:
                there = (part.block + block) * -self.side + self.packed.size
                made = replace(made, stop=_smaller(there, self.side))
                # Whatever is in lanes without outputs is multiplied, and that must not be slow, as
                # it is with numbers near 0.
                nothing = Assign(f"{packed}[{place.text}]", "0")
                body.add(made, For(lane, self.side, (nothing,), start=made.stop))
            else:
                body.add(made)

    # --------------------------------------------------------------- computing

    def _tile(
        self,
        body: Body,
        pointers: Pointers,
        target: ElementType,
        where: tuple[Index, Sum, _Part, Sum],
        rows: int,
    ) -> None:
        """Call the function that computes a tile.

        Parameters
        ----------
        where : place, number of the tile among those below each other, part of the kernel, and
            where that begins in the packed kernel.
        """
        place, row, part, begin = where
        loops = [*zip(place, self.places, strict=True), *zip(part.panel, self.panels, strict=True)]
        loops += [(part.block * self.width, self.lane), (row * self.rows, self.row)]
        into, to = part.chunk * (self.chunk * self.steps[0].input), Sum(0)
        for here, d in loops:
            into, to = into + here * d.input, to + here * d.output
        steps = (Step(self.chunk, self.steps[0].input), *self.steps[1:])
        tile = self._sizes(rows, steps, target)
        count = (part.block * -self.width + self.lane.size).text
        body.call(
            body.function("tile", lambda name: tile_text(tile, name)),
            f"{pointers.input} + {into.text}",
            f"{pointers.packed} + {begin.text}",
            f"{pointers.output} + {to.text}",
            *([] if tile.full else [count]),
            *([f"{part.chunk.text} > 0"] if tile.adds else []),
            work=rows * self.width * prod(s.size for s in steps),
        )

    def _sizes(self, rows: int, steps: Sequence[Step], target: ElementType) -> Tile:
        return Tile(
            kind=self.kind,
            target=target,
            rows=rows,
            vectors=self.vectors,
            lanes=self.lanes,
            steps=_joined(steps),
            input_row=self.row.input,
            kernel_row=1 if self.row.feature else 0,
            output_row=self.row.output,
            kernel_step=self.stride if self.in_place and self.stride else self.side,
            input_lanes=self.lane.input == 1,
            kernel_lanes=self.lane.feature != 0,
            output_lane=self.lane.output,
            full=self.lane.size % self.width == 0,
            adds=self.chunks > 1,
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the kernel: which panel, block of features and chunk of the steps."""

    panel: Index
    block: Sum
    chunk: Sum


def _divisor(number: int, most: int) -> int:
    """The largest divisor that is not above a bound; 1 if the bound is below."""
    return next((n for n in range(min(number, most), 0, -1) if number % n == 0), min(number, 1))


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
