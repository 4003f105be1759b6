"""Sorts of long rows by keys: digit by digit, the lowest first, as many launches as digits ask for.

Where a comparator compares keys (see `codegen.opcodes.comparators`), each element has a word of the
same order. For each digit of 8 bits, blocks count how many words of their tile have which digit;
sums over the tiles say where each tile's words of a digit go; and blocks move them there, together
with the numbers of their elements. Equal digits stay in order, so that the sort is stable. At last
each thread fetches the element that comes at its position.

References
----------
Satish, Harris and Garland, *Designing Efficient Sorting Algorithms for Manycore GPUs*, 2009; XLA,
`xla/service/gpu/transforms/sort_rewriter.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.types import store
from codegen.expressions import Cast, Literal, Name, indexed, item
from codegen.opcodes.comparators import keys
from codegen.opcodes.ordering import parts_of, word_of_key
from codegen.statements import Call, live
from emit_cuda.kernels.axis_lines import AxisLines
from emit_cuda.kernels.stages import Stage, each_thread
from optimizer.analysis.indexing import Sum, counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.expressions import Expr
    from codegen.opcodes.comparators import SortKey
    from emit_cuda.kernels.folding import Shared
    from emit_cuda.kernels.kernel import CudaKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# As in `sorting.cu`: threads, which are as many as digits have values; keys of a tile; and where
# number n of a tile lies in shared memory, n / 16 further.
THREADS, TILE, BITS = 256, 2048, 8
ROOM, COUNTS = TILE + TILE // 16, 16 * THREADS + THREADS

# The launches: one makes words, three for each digit move them, and one fetches elements.
KINDS = (
    "keys of a sort",
    "counts of digits",
    "sums of digits",
    "move by digit",
    "elements of a sort",
)


def digits(instr: Instruction) -> int:
    """The number of digits in a sort's keys; 0 where its comparator compares no keys."""
    return sum(-(-key.bits // BITS) for key in keys(instr.called[0]))


def radix_stages(
    kernel: CudaKernel, instr: Instruction, axis: int, outputs: Sequence[Name]
) -> list[Stage]:
    """Launches that sort all rows by the keys that the comparator compares.

    Parameters
    ----------
    axis : along which the rows lie.
    """
    return _RadixSort(kernel, instr, axis).launches(outputs)


class _RadixSort:
    """Writes the launches of a sort."""

    def __init__(self, kernel: CudaKernel, instr: Instruction, axis: int) -> None:
        self.body, self.instr = kernel.body, instr
        self.lines = AxisLines(instr.operands[0].shape.dims, axis)
        self.n, self.rows = self.lines.length, self.lines.count
        self.tiles, size = -(-self.n // TILE), instr.operands[0].shape.size
        self.row = Sum(0)
        self.words = [kernel.room("u32", name, size) for name in ("keys", "keys_by_digit")]
        self.numbers = [kernel.room("u32", name, size) for name in ("order", "order_by_digit")]
        names = ("own_keys", "own_numbers", "places", "warps")
        self.shared = [Name(self.body.name(name)) for name in names]
        self.counts = kernel.room("u32", "counts", self.rows * THREADS * self.tiles)
        self.totals = kernel.room("u32", "totals", self.rows * THREADS)

    def launches(self, outputs: Sequence[Name]) -> list[Stage]:
        """The words of each key are made, and sorted; elements follow."""
        stages: list[Stage] = []
        parts = [
            part for key in keys(self.instr.called[0]) for part in parts_of(key, self._word(key))
        ]
        for word, bits in reversed(parts):
            stages.append(self._make_words(word, is_first=not stages))
            for shift in range(0, bits, BITS):
                stages += self._by_digit(shift)
        return [*stages, self._fetch(outputs)]

    def _word(self, key: SortKey) -> Callable[[Sum], Expr]:
        def word(j: Sum) -> Expr:
            at = self._at(j)
            values = [self.body.element(o, at) for o in self.instr.operands]
            return word_of_key(self.body, self.instr, key, values)

        return word

    def _at(self, j: Sum) -> Index:
        """The index of an element of this thread's row."""
        return self.lines.index(self.row, j)

    def _begin(self) -> Sum:
        """Declare this thread's row; gives its index there."""
        thread = Name("thread")
        row = self.body.let("s64", "row", thread / self.n)
        self.row = counter(row.name, self.rows)
        return counter(self.body.let("s64", "j", thread - row * self.n).name, self.n)

    def _ordered(self) -> Sum:
        """The number of the element that comes at this thread's place, by the digits until now."""
        read = Cast("s64", item(self.numbers[0], Name("thread")))
        return unknown(self.body.let("s64", "number", read).name, 0, self.n - 1)

    def _make_words(self, word: Callable[[Sum], Expr], *, is_first: bool) -> Stage:
        """A launch that makes the words of a part of a key, in the order of parts behind it."""
        body, thread = self.body, Name("thread")
        with body.block() as statements:
            j = self._begin()
            if is_first:
                body.assign(item(self.numbers[0], thread), Cast("u32", indexed(j)))
            else:
                j = self._ordered()
            body.assign(item(self.words[0], thread), Cast("u32", word(j)))
        return each_thread("thread", self.n * self.rows, live(statements), "keys of a sort")

    def _by_digit(self, shift: int) -> list[Stage]:
        """The launches that move words by one of their digits."""
        sizes = Literal(self.n), Literal(self.tiles), Literal(shift)
        names = self.shared
        own, warps = names[2], names[3]
        counted = Call("count_digits", (self.words[0], self.counts, *sizes, own))
        summed = Call("sum_digits", (self.counts, self.totals, Literal(self.tiles), warps))
        sources = self.words[0], self.numbers[0]
        targets = self.words[1], self.numbers[1]
        moved = Call(
            "move_by_digit",
            (*sources, *targets, self.counts, self.totals, *sizes, *names),
        )
        rooms = zip(names, (ROOM, ROOM, COUNTS, 9), strict=True)
        shared: Shared = tuple(("u32", name.name, size) for name, size in rooms)
        tiles, all_digits = self.rows * self.tiles, self.rows * THREADS
        self.words.reverse()
        self.numbers.reverse()
        few: Shared = (("u32", own.name, THREADS),)
        return [
            _blocks(counted, tiles, few, "counts of digits"),
            _blocks(summed, all_digits, shared[3:], "sums of digits"),
            _blocks(moved, tiles, shared, "move by digit"),
        ]

    def _fetch(self, outputs: Sequence[Name]) -> Stage:
        """A launch whose threads store the elements that come at their positions."""
        body = self.body
        with body.block() as statements:
            j = self._begin()
            number, target = self._ordered(), linear(self._at(j), self.lines.dims)
            for output, operand in zip(outputs, self.instr.operands, strict=True):
                value = body.element(operand, self._at(number))
                body.assign(item(output, target), store(operand.shape.element_type, value))
        return each_thread("thread", self.n * self.rows, live(statements), "elements of a sort")


def _blocks(call: Call, blocks: int, shared: Shared, kind: str) -> Stage:
    return Stage((call,), (blocks, 1, 1), (THREADS, 1, 1), shared, kind=kind)
