"""Notes on the indices that an element of a kernel reads, by which a loop nest is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.analysis.indexing import Sum, Within


class AccessTrace:
    """The loads of one element's statements, and the conditions on its index.

    Attributes
    ----------
    loads : row-major numbers of the elements that are read.
    conditions : those that decide between two ways to compute an element.
    statements : how many there are.
    straight : there are no loops among them.
    """

    def __init__(self) -> None:
        self.loads: list[Sum] = []
        self.conditions: list[Within] = []
        self.statements = 0
        self.straight = True
