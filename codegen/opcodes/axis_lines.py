"""The lines of an array along one of its dimensions: those that are sorted, folded, transformed."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from optimizer.analysis.indexing import delinear

if TYPE_CHECKING:
    from optimizer.analysis.indexing import Index, Sum


@dataclass(frozen=True, slots=True)
class AxisLines:
    """The lines of an array of some sizes along a dimension, in the order of all others."""

    dims: tuple[int, ...]
    axis: int

    @property
    def length(self) -> int:
        """The number of elements of each line."""
        return self.dims[self.axis]

    @property
    def count(self) -> int:
        """The number of lines."""
        return prod((*self.dims[: self.axis], *self.dims[self.axis + 1 :]))

    @property
    def in_rows(self) -> bool:
        """Whether the elements of a line are neighbours in memory."""
        return prod(self.dims[self.axis + 1 :]) == 1

    def index(self, line: Sum, k: Sum) -> Index:
        """The index of element k of a line."""
        others = delinear(line, [1 if d == self.axis else n for d, n in enumerate(self.dims)])
        return (*others[: self.axis], k, *others[self.axis + 1 :])


@dataclass(frozen=True, slots=True)
class DirectedAxisLines(AxisLines):
    """Lines that are run through forwards, or backwards."""

    backwards: bool

    def in_turn(self, line: Sum, i: Sum) -> Index:
        """The index of the element of a line that comes as number i."""
        return self.index(line, i * -1 + (self.length - 1) if self.backwards else i)
