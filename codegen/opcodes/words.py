"""The rows of an array that is sorted, memory for the words of a row, and how they are sorted.

A row that is the only one has its words in the kernel's scratch memory: other arrays lie there
before and after, and all threads can sort parts of it, if it is long. The words of others are in
each thread's own memory.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.memory import pointer_into
from codegen.expressions import Cast, Choose, Group, Name, apply, binary, indexed, item
from codegen.kinds import Pointer
from codegen.opcodes.folding import over
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import counter, unknown
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from codegen.elements.body import Body
    from codegen.opcodes.comparators import Part
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Index, Sum

    RowIndex = Callable[[Sum], Index]

INSERTED = 40
"""Measured: rows up to which sorting by insertion is faster than counting digits. With 0, annealing
takes 1.5 times as long, and some sorts of a few numbers 14 times."""

WIDE_DIGITS = 4096
"""Derived: rows that are sorted by digits of 11 bits, twice their 2048 counters. With digits of 8
bits, hard negatives take 1.13 times as long."""
BUCKETS, MOST_CHUNKS = 1 << 16, 64
"""Tuned: length of a row whose words are put into buckets first, of which threads take some;
and the chunks of it, each of at least half as many words. The former decides about `sort` and
`argsort` alone, the latter about no program."""


@contextmanager
def rows_along(body: Body, shape: Shape, axis: int) -> Generator[RowIndex]:
    """Run a block for every row along an axis; gives the index of an element of the row."""
    others = [1 if d == axis else size for d, size in enumerate(shape.dims)]
    with body.loops([f"i{d}" for d in range(shape.rank)], others, parallel=True) as outer:
        yield lambda j: (*outer[:axis], j, *outer[axis + 1 :])


class Words:
    """Two arrays of words for a row.

    Parameters
    ----------
    kind : the largest words that they are to hold.
    in_chunks : a long row may be sorted by several threads that wait for each other.

    Attributes
    ----------
    n : how many words there are.
    is_only : whether there is no other row, and no other thread sorts one at the same time.
    chunks : those of a long row; 0 for others.
    scratch_bytes : of the kernel's scratch memory.
    """

    def __init__(
        self, body: Body, n: int, rows: int, *, in_chunks: bool = True, kind: str = "u64"
    ) -> None:
        self.body, self.n = body, n
        self.is_only = in_chunks and rows == 1
        long = self.is_only and n >= BUCKETS
        self.chunks = min(2 * n // BUCKETS, MOST_CHUNKS) if long else 0
        self.scratch_bytes = 0
        self.kind = kind
        # Words of 4 bytes are those of a row of as many elements, and lie where the result goes.
        self.spare = self._array(kind, "spare", n)
        apart = n > INSERTED and not (self.chunks and kind == "u32")
        self.words = self._array(kind, "words", n) if apart else self.spare
        self.counts = (
            self._array("u32", "places", 2048 * (self.chunks + 2)) if self.chunks else None
        )

    def _array(self, kind: str, name: str, size: int) -> Name:
        width = ELEMENT_TYPES[kind].bytes
        if not self.is_only:
            return self.body.own(kind, name, size, width)
        begin = self.scratch_bytes
        self.scratch_bytes += aligned(size * width)
        return self.body.variable(Pointer(kind), name, pointer_into(Name("scratch"), begin, kind))

    def pair(self, kind: str) -> tuple[Name, Name]:
        """Both arrays, as words of another size."""
        if kind == self.kind:
            return self.words, self.spare
        first, second = (
            self.body.variable(Pointer(kind), "words", Cast(Pointer(kind), array))
            for array in (self.words, self.spare)
        )
        return first, second

    @contextmanager
    def each(self, lost: Name | None = None) -> Generator[Sum]:
        """Run a block for every element of the row, in vector lanes where it is straight code.

        Threads may share the iterations where there are no other rows.

        Parameters
        ----------
        lost : a variable that collects the bits of all iterations, if there is one.
        """
        name = self.body.name("j")
        with self.body.block() as statements:
            yield counter(name, self.n)
        loop = over(name, self.n, statements)
        if lost:
            self.body.add(replace(loop, reductions=(("|", lost.name),) if loop.simd else ()))
        else:
            self.body.add(replace(loop, parallel=bool(self.chunks)))

    def sorted(self, kind: str, words: Name, spare: Name, low: int, bits: int) -> Name:
        """The array that holds words of a kind, sorted by some bits."""
        body, n = self.body, self.n
        if self.counts:
            row = (words, spare, self.counts, n, self.chunks)
            body.call(FUNCTIONS["hlo_bucket_sort", ELEMENT_TYPES[kind]], *row, low)
            return words
        most = 11 if n >= WIDE_DIGITS else 8
        digits = -(-bits // most)
        ways = digits, -(-bits // digits)
        call = apply(FUNCTIONS["hlo_radix_sort", ELEMENT_TYPES[kind]], words, spare, n, low, *ways)
        if n <= INSERTED:
            call = apply(FUNCTIONS["insertion_sort", ELEMENT_TYPES[kind]], words, n, low)
        return body.variable(Pointer(kind), "sorted", call)

    def ordered(self, parts: Sequence[Part], lost: Name | None = None) -> Name:
        """The array whose words end with the numbers of the row's elements, sorted by keys.

        Parameters
        ----------
        parts : of all keys, the most important first.
        lost : as of `each`.
        """
        body, n, done = self.body, self.n, None
        for word, bits in reversed(parts):
            array = done or self.words
            with self.each(lost) as j:
                number = j
                if done:
                    name = body.let("s64", "number", Cast("u32", item(done, j)))
                    number = unknown(name.name, 0, n - 1)
                low = Cast("u64", Group(indexed(number)))
                body.assign(item(array, j), Cast("u64", word(number)) << 32 | low)
            spare = self.spare
            if done and array != self.words and n > INSERTED:
                other = Choose(binary("==", done, self.words), spare, self.words)
                spare = body.variable(Pointer("u64"), "other", other)
            done = self.sorted("u64", array, spare, 32, bits)
        assert done is not None
        return done
