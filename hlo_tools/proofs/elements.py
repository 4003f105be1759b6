"""Numbers for elements: two elements with one number are equal, whatever the arguments are.

An element is what an operation makes of other elements, so its number follows from the operation
and from their numbers, as in value numbering. An array of elements is then an array of whole
numbers, which the interpreter moves as it moves any others: an index map needs no proof.

References
----------
B. Alpern, M. Wegman and F. Zadeck, "Detecting Equality of Variables in Programs", 1988.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType

    Ids = NDArray[np.int64]
    Array = NDArray[Any]

# Two numbers of elements make one code of 62 bits.
BITS = 31
NO_ELEMENTS, ONLY = np.empty(0, np.int64), np.zeros(1, np.int64)


class TooManyError(Exception):
    """There are more elements than may be numbered."""


@dataclass(slots=True)
class Made:
    """All elements that one operation has made.

    Attributes
    ----------
    key : tells the operation from others; the first part is its opcode, or a word of our own.
    element_type : None for a token, or for a row that is no value of the program.
    codes, ids : of the elements, by code: a whole number that stands for the operands.
    """

    key: tuple[Hashable, ...]
    element_type: ElementType | None
    codes: Ids
    ids: Ids


class NumberedElements:
    """All elements that were numbered.

    Parameters
    ----------
    most : how many there may be.

    Attributes
    ----------
    first : the first operand of each element; of a constant, its bits.
    is_constant : which elements are constants.
    leader : of each element, the one that stands for all that are equal to it.
    """

    def __init__(self, most: int) -> None:
        self.most, self.count = most, 0
        self.operations: dict[tuple[Hashable, ...], Made] = {}
        self.blocks: list[tuple[int, Made, Array]] = []
        self.rows: dict[bytes, int] = {}
        self.spelled: list[bytes] = []
        self.first = self.leader = np.empty(0, np.int64)
        self.is_constant = np.empty(0, np.bool_)

    def number(
        self, key: tuple[Hashable, ...], element_type: ElementType | None, *operands: Ids
    ) -> Ids:
        """The numbers of the elements that an operation makes of operands, row by row.

        Parameters
        ----------
        operands : of one length; a single one may be any whole numbers, more are elements.

        Raises
        ------
        TooManyError
            if there are too many.
        """
        kind = self.operations.setdefault(key, Made(key, element_type, NO_ELEMENTS, NO_ELEMENTS))
        *before, last = operands
        if not before:
            codes = last
        else:
            pairs = before[0] if len(before) == 1 else self.number(("pair",), None, *before)
            codes = (pairs << BITS) | last
        if len(codes) == 1:
            unique, first, inverse = codes, ONLY, ONLY
        else:
            unique, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        at = np.searchsorted(kind.codes, unique)
        new = np.ones(len(unique), np.bool_)
        inside = at < len(kind.codes)
        new[inside] = kind.codes[at[inside]] != unique[inside]
        if new.any():
            rows = np.stack([operand[first[new]] for operand in operands], axis=1)
            kind.ids = np.insert(kind.ids, at[new], self._add(kind, rows))
            kind.codes = np.insert(kind.codes, at[new], unique[new])
            at = np.searchsorted(kind.codes, unique)
        return self.leader[kind.ids[at][inverse.reshape(-1)]]

    def _add(self, operation: Made, operands: Array) -> Ids:
        """New elements."""
        start, self.count = self.count, self.count + len(operands)
        if self.count > self.most:
            raise TooManyError(f"there are more than {self.most:,} different elements")
        self.blocks.append((start, operation, operands))
        if self.count > len(self.leader):
            more = max(self.count, 1024)
            self.leader = np.concatenate(
                [self.leader, np.arange(len(self.leader), len(self.leader) + more)]
            )
            self.first = np.concatenate([self.first, np.zeros(more, np.int64)])
            self.is_constant = np.concatenate([self.is_constant, np.zeros(more, np.bool_)])
        self.first[start : self.count] = operands[:, 0]
        self.is_constant[start : self.count] = operation.key[0] == "constant"
        return np.arange(start, self.count)

    def of_rows(
        self, key: tuple[Hashable, ...], element_type: ElementType | None, rows: Ids
    ) -> Ids:
        """The numbers of the elements that an operation makes of the rows of a matrix."""
        spelled = [row.tobytes() for row in np.ascontiguousarray(rows, np.int64)]
        codes = [self.rows.setdefault(row, len(self.rows)) for row in spelled]
        self.spelled += islice(self.rows, len(self.spelled), None)
        return self.number((*key, "row"), element_type, np.array(codes, np.int64))

    def constants(self, values: Array, element_type: ElementType) -> Ids:
        """The numbers of known elements."""
        row = np.ascontiguousarray(values).reshape(-1)
        size = row.dtype.itemsize
        if size > 8:
            parts = row.view(np.int64).reshape(len(row), -1)
            return self.of_rows(("wide constant", element_type.name), element_type, parts)
        bits = row.view(f"u{size}").astype(np.uint64).view(np.int64)
        return self.number(("constant", element_type.name), element_type, bits)

    def values(self, ids: Ids, element_type: ElementType) -> Array:
        """The values of constants."""
        dtype = element_type.dtype
        return self.first[ids].view(np.uint64).astype(f"u{dtype.itemsize}").view(dtype)

    def definition(self, number: int) -> tuple[Made, tuple[int, ...]]:
        """The operation that has made an element, and its operands."""
        start, operation, operands = self.blocks[
            bisect_right(self.blocks, number, key=lambda block: block[0]) - 1
        ]
        row = operands[number - start]
        if operation.key[-1] == "row":
            row = np.frombuffer(self.spelled[int(row[0])], np.int64)
        return operation, tuple(row.tolist())

    def unite(self, some: Ids, others: Ids) -> None:
        """From now on, take elements for equal to others, pair by pair."""
        for pair in np.unique(np.stack([some, others], axis=1)[some != others], axis=0):
            keep, gone = sorted(self._root(int(element)) for element in pair)
            if self.is_constant[gone]:
                keep, gone = gone, keep
            # Where both are constants, nobody may know that they are equal.
            if not (self.is_constant[keep] and self.is_constant[gone]):
                self.leader[gone] = keep
        while not np.array_equal(further := self.leader[self.leader], self.leader):
            self.leader = further

    def _root(self, number: int) -> int:
        while (above := int(self.leader[number])) != number:
            number = above
        return number
