"""A layered layout: where the boxes of a graph without circles go, and how its edges run.

Five steps, each simple: every box gets a layer below those of its operands; an edge over several
layers gets a bend in each; layers are ordered such that few edges cross; boxes move along their
layers towards what they are tied to; and the layers are put below each other. Nothing is random, so
the same graph always gives the same picture.

References
----------
Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures",
IEEE Transactions on Systems, Man, and Cybernetics 11 (1981).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Pixels between boxes of a layer, between edges, and between layers.
BESIDE, BEND, BELOW = 26.0, 12.0, 32.0
# How often layers are ordered anew, and boxes moved.
_SWEEPS, _MOVES = 16, 14
# How much straighter an edge runs between two bends than from box to box.
_STRAIGHT = 6.0


@dataclass(frozen=True, slots=True)
class EdgePart:
    """Part of an edge, from one layer to the next; edges of one source share their first ones.

    Attributes
    ----------
    source : the box whose value runs here.
    target : the box at its end; None at a bend.
    start, end : points.
    is_first : whether it leaves the box.
    """

    source: int
    target: int | None
    start: tuple[float, float]
    end: tuple[float, float]
    is_first: bool


@dataclass(frozen=True, slots=True)
class LayeredLayout:
    """Centres of boxes, parts of edges, and the size of it all."""

    centres: tuple[tuple[float, float], ...]
    segments: tuple[EdgePart, ...]
    width: float
    height: float


def lay_out(
    sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]
) -> LayeredLayout:
    """Place boxes.

    Parameters
    ----------
    sizes : width and height of each box; whatever uses a box has a greater number.
    edges : pairs of a box and one that uses it.
    """
    if not sizes:
        return LayeredLayout((), (), 0.0, 0.0)
    return _Drawing(sizes, list(dict.fromkeys(edges))).laid_out()


class _Drawing:
    """A graph on its way to a layout.

    Attributes
    ----------
    layer : of each vertex: of the boxes, and then of the bends.
    owner : the box whose value runs through a vertex.
    above, below : the vertices in the layers beside to which each is tied.
    rows : the vertices of each layer in order; `rank` is the position of each in its row.
    """

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: list[tuple[int, int]]) -> None:
        self.sizes, self.edges = sizes, edges
        self.layer = layers(len(sizes), edges)
        self.owner = list(range(len(sizes)))
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        self._bend()
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        for vertex in sorted(range(len(self.layer)), key=lambda v: (self.owner[v], v)):
            self.rows[self.layer[vertex]].append(vertex)
        self.x = [0.0] * len(self.layer)
        self.rank = [0] * len(self.layer)
        for row in self.rows:
            self._count(row)

    def _count(self, row: list[int]) -> None:
        """Keep in mind at which position of its layer each vertex is."""
        for rank, vertex in enumerate(row):
            self.rank[vertex] = rank

    def _bend(self) -> None:
        """Give edges over several layers a bend in each; those of one box share their bends."""
        bends: dict[tuple[int, int], int] = {}
        for source, target in self.edges:
            last = source
            for layer in range(self.layer[source] + 1, self.layer[target]):
                bend = bends.get((source, layer))
                if bend is None:
                    bend = bends[source, layer] = len(self.layer)
                    self.layer.append(layer)
                    self.owner.append(source)
                    self.above.append([])
                    self.below.append([])
                    self._tie(last, bend)
                last = bend
            self._tie(last, target)

    def _tie(self, upper: int, lower: int) -> None:
        self.below[upper].append(lower)
        self.above[lower].append(upper)

    def laid_out(self) -> LayeredLayout:
        """Order and place the nodes; gives the drawing."""
        self._order()
        self._assign_coordinates()
        tops = self._tops()
        left = min(self.x[v] - self._width(v) / 2 for v in range(len(self.x)))
        self.x = [x - left for x in self.x]
        right = max(self.x[v] + self._width(v) / 2 for v in range(len(self.x)))
        heights = [self._height(row) for row in self.rows]
        centres = tuple(
            (self.x[box], tops[self.layer[box]] + heights[self.layer[box]] / 2)
            for box in range(len(self.sizes))
        )
        segments = tuple(self._segments(tops, heights, centres))
        return LayeredLayout(centres, segments, right, tops[-1] + heights[-1])

    # ---------------------------------------------------------------- order

    def _order(self) -> None:
        """Sort each layer by its neighbours, down and up again, and keep the best order."""
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            downwards = sweep % 2 == 0
            ties = self.above if downwards else self.below
            for row in self.rows[1:] if downwards else self.rows[-2::-1]:
                self._sort(row, ties)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _sort(self, row: list[int], ties: list[list[int]]) -> None:
        rank = self.rank
        weight = {
            v: sum(rank[t] for t in ties[v]) / len(ties[v]) if ties[v] else float(rank[v])
            for v in row
        }
        row.sort(key=lambda v: weight[v])
        self._count(row)

    def _crossings(self) -> int:
        """The number of pairs of edges that cross."""
        count = 0
        for row in self.rows[:-1]:
            seen: list[int] = []
            for vertex in row:
                ends = sorted(self.rank[v] for v in self.below[vertex])
                count += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return count

    # ---------------------------------------------------------------- coordinates

    def _assign_coordinates(self) -> None:
        """Move boxes along their layers, without changing the order, to straighten edges."""
        for row in self.rows:
            self._settle(row, dict.fromkeys(row, 0.0))
        for move in range(_MOVES):
            downwards = move % 2 == 0
            rows = self.rows if downwards else self.rows[::-1]
            for row in rows:
                last = move >= _MOVES - 2
                wanted: dict[int, float] = {}
                for vertex in row:
                    ties = [*self.above[vertex], *self.below[vertex]]
                    if not last:
                        ties = (self.above if downwards else self.below)[vertex] or ties
                    wanted[vertex] = self._mean(vertex, ties)
                self._settle(row, wanted)

    def _mean(self, vertex: int, ties: list[int]) -> float:
        """The best coordinate of a vertex."""
        if not ties:
            return self.x[vertex]
        weights = [_STRAIGHT if self._is_bend(t) else 1.0 for t in ties]
        total = sum(w * self.x[t] for w, t in zip(weights, ties, strict=True))
        return total / sum(weights)

    def _settle(self, row: list[int], wanted: dict[int, float]) -> None:
        """Put a layer's vertices as near as can be to where they would best be.

        With the room that each needs subtracted, coordinates must only not fall; the nearest
        such ones are found by pooling neighbours that are in each other's way.
        """
        offset, offsets = 0.0, list[float]()
        for number, vertex in enumerate(row):
            if number:
                offset += self._room(row[number - 1], vertex)
            offsets.append(offset)
        pools: list[
            tuple[float, float, int]
        ] = []  # sums of coordinates and weights, and the number
        for vertex, before in zip(row, offsets, strict=True):
            weight = _STRAIGHT if self._is_bend(vertex) else 1.0
            pools.append(((wanted[vertex] - before) * weight, weight, 1))
            while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
                total, weights, count = pools.pop()
                more, others, number = pools.pop()
                pools.append((total + more, weights + others, count + number))
        coordinates = [total / weights for total, weights, count in pools for _ in range(count)]
        for vertex, before, x in zip(row, offsets, coordinates, strict=True):
            self.x[vertex] = x + before

    def _room(self, left: int, right: int) -> float:
        gap = BEND if self._is_bend(left) or self._is_bend(right) else BESIDE
        return (self._width(left) + self._width(right)) / 2 + gap

    # ---------------------------------------------------------------- edges

    def _tops(self) -> list[float]:
        """The top of each layer; there is more room where more edges go across."""
        tops, y = list[float](), 0.0
        for number, row in enumerate(self.rows):
            tops.append(y)
            y += self._height(row) + BELOW
            if number + 1 < len(self.rows):
                ends = [abs(self.x[v] - self.x[b]) for v in row for b in self.below[v]]
                y += min(max(ends, default=0.0) / 12, 70.0)
        return tops

    def _segments(
        self, tops: list[float], heights: list[float], centres: Sequence[tuple[float, float]]
    ) -> list[EdgePart]:
        """Edges run straight inside of a layer, lest they go over its taller boxes."""
        parts: list[EdgePart] = []
        ports = self._ports()
        for upper in range(len(self.layer)):
            layer, x = self.layer[upper], self.x[upper]
            top, bottom = tops[layer], tops[layer] + heights[layer]
            box = not self._is_bend(upper)
            if box:
                top = centres[upper][1] + self.sizes[upper][1] / 2
            if self.below[upper] and top < bottom:
                parts.append(EdgePart(self.owner[upper], None, (x, top), (x, bottom), box))
            for lower in self.below[upper]:
                y = end = tops[self.layer[lower]]
                bend = self._is_bend(lower)
                at = self.x[lower] if bend else ports[upper, lower]
                if not bend:
                    end = centres[lower][1] - self.sizes[lower][1] / 2
                straight = end > y
                target = None if bend or straight else lower
                parts.append(EdgePart(self.owner[upper], target, (x, bottom), (at, y), box))
                if straight:
                    parts.append(EdgePart(self.owner[upper], lower, (at, y), (at, end), False))
        return parts

    def _ports(self) -> dict[tuple[int, int], float]:
        """The ends of edges on the upper sides of boxes: beside each other, in order."""
        ports: dict[tuple[int, int], float] = {}
        for box in range(len(self.sizes)):
            ends = sorted(self.above[box], key=lambda v: self.x[v])
            step = min(18.0, 0.8 * self._width(box) / max(len(ends), 1))
            for number, upper in enumerate(ends):
                ports[upper, box] = self.x[box] + step * (number - (len(ends) - 1) / 2)
        return ports

    def _is_bend(self, vertex: int) -> bool:
        return vertex >= len(self.sizes)

    def _width(self, vertex: int) -> float:
        return 0.0 if self._is_bend(vertex) else self.sizes[vertex][0]

    def _height(self, row: list[int]) -> float:
        return max((self.sizes[v][1] for v in row if not self._is_bend(v)), default=0.0)


def layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box, below the layers of all boxes that it uses."""
    uses: list[list[int]] = [[] for _ in range(count)]
    used: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        uses[target].append(source)
        used[source].append(target)
    layer = [0] * count
    private = [False] * count
    for box in range(count):
        layer[box] = max((layer[u] + 1 for u in uses[box]), default=0)
        private[box] = bool(used[box]) and all(len(used[u]) == 1 and private[u] for u in uses[box])
    for box in reversed(range(count)):
        if private[box]:
            layer[box] = min(layer[u] for u in used[box]) - 1
    first = min(layer, default=0)
    return [number - first for number in layer]
