"""The loops of a nest over an array's elements, and the counters that its indices divide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from optimizer.analysis.indexing import Counter, Sum, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.elements.trace import AccessTrace
    from optimizer.analysis.indexing import Atom, Index

Range = tuple[int, int]  # the first, and the one after the last


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop over a dimension of an array, or over a part of one.

    Attributes
    ----------
    stride : how far the index of the dimension moves with each iteration.
    start : the index at the first one, less what other loops over the dimension add.
    """

    name: str
    dimension: int
    size: int
    stride: int = 1
    start: int = 0


@dataclass(frozen=True, slots=True)
class AxisTiles:
    """The tiles along an axis: their size, and the counters of them and of elements inside."""

    size: int
    name: str
    counter: str


@dataclass(frozen=True, slots=True)
class TraversalNest:
    """A nest in the making.

    Attributes
    ----------
    write : writes the statements of one element.
    traced : what they read and ask, without writing them.
    tiled : the two axes that run in tiles, by number: the one along which the operand's elements
        lie side by side, and the last one.
    cut : the axes that are cut where a condition changes.
    """

    body: Body
    axes: tuple[Axis, ...]
    write: Callable[[Index], None]
    traced: Callable[[Index], AccessTrace]
    tiled: dict[int, AxisTiles] = field(default_factory=dict[int, AxisTiles])
    cut: frozenset[int] = frozenset()

    def trace(self) -> AccessTrace:
        """The trace of an element anywhere in the array."""
        return self.trace_within(self.ranges)

    def trace_within(self, ranges: Sequence[Range]) -> AccessTrace:
        """The trace of an element anywhere in some ranges of the axes."""
        return self.traced(self.index(ranges))

    def index(self, ranges: Sequence[Range]) -> Index:
        """The element's index, by the counters and how far they may run."""
        pieces = [Sum(0)] * (1 + max((a.dimension for a in self.axes), default=-1))
        for axis, (low, high) in zip(self.axes, ranges, strict=True):
            part = unknown(axis.name, low, high - 1) * axis.stride
            pieces[axis.dimension] = pieces[axis.dimension] + part + axis.start
        return tuple(pieces)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The ranges of the whole array."""
        return tuple((0, axis.size) for axis in self.axes)


def atoms(trace: AccessTrace) -> Iterator[Atom]:
    """All atoms of the indices that were read or asked for, nested ones too."""
    yield from _atoms_of([*trace.loads, *(c.value for c in trace.conditions)])


def divided_counters(trace: AccessTrace) -> set[str]:
    """The counters in a dividend."""
    divided = (atom.dividend for atom in atoms(trace) if not isinstance(atom, Counter))
    return {a.text for dividend in divided for a, _ in dividend.terms}


def open_counters(trace: AccessTrace) -> set[str]:
    """The counters on which conditions depend that are not certain."""
    return {a.text for a in _atoms_of([c.value for c in trace.conditions if c.is_open])}


def _atoms_of(stack: list[Sum]) -> Iterator[Atom]:
    while stack:
        for atom, _ in stack.pop().terms:
            yield atom
            if not isinstance(atom, Counter):
                stack.append(atom.dividend)
