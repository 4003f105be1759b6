"""Layouts of a tile in shared memory: where its elements lie, so that threads ask different banks.

Shared memory answers 32 words at once, if they are in different banks. A tile whose rows are a
power of two long has all elements of a column in few banks; so its rows are made a little longer
(`PaddedRows`), or the chunks of each row are permuted, in each row in another way (`SwizzledRows`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.expressions import Group, grouped

if TYPE_CHECKING:
    from codegen.expressions import Expr

# Bytes of all banks together, and of the chunks of a row that are permuted.
BANKS_BYTES, CHUNK = 128, 16


@dataclass(frozen=True, slots=True)
class TileLayout(ABC):
    """A tile's layout.

    Attributes
    ----------
    rows, columns : of elements.
    vector : elements that lie side by side for certain.
    contracted_last : neighbours along the contraction lie side by side; else neighbours along the
        other dimension, which is of rows of the left operand, of columns of the right one.
    """

    rows: int
    columns: int
    vector: int
    contracted_last: bool = False

    @property
    def elements(self) -> int:
        """The elements that the tile takes."""
        return self.rows * self.columns

    @abstractmethod
    def element(self, slow: Expr, quick: Expr) -> Expr:
        """The number of an element, by its row in shared memory and its index in that."""

    @abstractmethod
    def vector_number(self, slow: Expr, quick: Expr) -> Expr:
        """The number of a vector, by its row in shared memory and its number in that."""


class PaddedRows(TileLayout):
    """Rows with a vector of unused elements after each; each has one index of the contraction."""

    @property
    def pitch(self) -> int:
        """Elements from a row to the next, which keep rows aligned."""
        return self.columns + self.vector

    @property
    def elements(self) -> int:
        """The number of elements of all rows."""
        return self.rows * self.pitch

    def element(self, slow: Expr, quick: Expr) -> Expr:
        """The number of an element."""
        return slow * self.pitch + quick

    def vector_number(self, slow: Expr, quick: Expr) -> Expr:
        """The number of a vector."""
        return slow * (self.pitch // self.vector) + quick


class SwizzledRows(TileLayout):
    """Rows of swizzled chunks of 16 bytes: their numbers are xor'ed with the row's.

    So eight chunks below each other, which tensor cores load at once, are in different banks. A row
    has 128 bytes at most; the columns after them are stored after all rows, as another tile.
    """

    @property
    def chunks(self) -> int:
        """Chunks of a row."""
        return min(self.columns // self.vector, BANKS_BYTES // CHUNK)

    def element(self, slow: Expr, quick: Expr) -> Expr:
        """The number of an element."""
        chunk = self.vector_number(slow, grouped(quick / self.vector))
        return Group(chunk) * self.vector + quick % self.vector

    def vector_number(self, slow: Expr, quick: Expr) -> Expr:
        """The number of a chunk."""
        chunks, most = self.chunks, BANKS_BYTES // CHUNK
        key = slow % chunks if chunks == most else slow / (most // chunks) % chunks
        row = slow
        if chunks * self.vector < self.columns:
            row = Group(quick / chunks * self.rows + slow)
            quick = grouped(quick % chunks)
        return row * chunks + Group(quick ^ Group(key))
