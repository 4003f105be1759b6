"""A tile of a row in a block, which puts it in the order of the digits of keys, the lowest first.

Where a comparator compares keys (see `codegen.opcodes.comparators`), each element has a word of the
same order. A digit is 8 bits of such a word. Elements of equal digits stay in order, so that the
sort is stable. Where a row is one tile, the block goes on with the next digit; of longer rows see
`emit_cuda.grids.radix`.

Elements of few bytes are moved themselves, and their words are computed again for each digit. Of
others a word and a number are moved, and the elements are fetched at last.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.types import load
from codegen.expressions import (
    BLOCK_X,
    THREAD_X,
    Cast,
    Group,
    Literal,
    Name,
    apply,
    binary,
    indexed,
    item,
)
from codegen.kinds import wide
from codegen.opcodes.axis_lines import AxisLines
from codegen.opcodes.comparators import keys, operands_of, parts_of, word_of_key
from codegen.statements import LocalVariable
from emit_cuda.grids.stages import BARRIER, WARP
from optimizer.analysis.indexing import Sum, counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence

    from codegen.expressions import Expr
    from codegen.opcodes.comparators import Part, SortKey
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Shared, Stage
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

    Arrays = Sequence[Name]

# As in `sorting.cu`: threads, which are as many as digits have values; and the bits of a digit.
THREADS, BITS = 256, 8
# Bytes of an element that is moved itself, at most.
MOST_BYTES = 8
# The kind of the launch.
SORT = "sort by digits"


class RadixTile:
    """Writes the code of a block that sorts a tile by digits.

    Parameters
    ----------
    each : elements of a tile that each thread has.

    Attributes
    ----------
    by_number : an element is held as its word and its number, not as it is stored.
    begin : the position in the row at which the tile begins.
    values, tile : arrays that hold elements: those of a thread, and those of a tile.
    ranks : the digit of each of a thread's elements, and then its position in the sorted tile.
    counts, offsets : a histogram of digits for each warp, and where each digit begins in the tile.
    bits : of the words by which the row is sorted in turn.
    held : the numbers of the arrays of which a thread holds elements while it ranks them.
    """

    def __init__(
        self,
        kernel: CudaKernel,
        instr: Instruction,
        axis: int,
        outputs: Sequence[Name],
        per_thread: int,
    ) -> None:
        self.kernel, self.body, self.instr, self.outputs = kernel, kernel.body, instr, outputs
        self.each, self.size = per_thread, per_thread * THREADS
        self.lines = AxisLines(instr.operands[0].shape.dims, axis)
        self.n, self.rows, self.row = self.lines.length, self.lines.count, Sum(0)
        self.begin: Expr = Literal(0)
        types = [o.shape.element_type for o in instr.operands]
        is_complex = any(kind.is_complex for kind in types)
        self.by_number = is_complex or sum(kind.bytes for kind in types) > MOST_BYTES
        self.kinds = ["u32", "u32"] if self.by_number else [kind.name for kind in types]
        self.values = [Name(self.body.name("values")) for _ in self.kinds]
        self.tile = [Name(self.body.name("tile")) for _ in self.kinds]
        self.ranks, self.counts, self.offsets, self.warps = (
            Name(self.body.name(name)) for name in ("ranks", "counts", "offsets", "warps")
        )
        self.bits = [bits for _, bits in self.words(self.word_of_operands)]
        self.held: Collection[int] = range(len(self.kinds))

    @property
    def shared(self) -> Shared:
        """A tile, and the counts by which it is put in order."""
        tile = ((k, a.name, self.size) for k, a in zip(self.kinds, self.tile, strict=True))
        rooms = (self.counts, THREADS // WARP * THREADS), (self.offsets, THREADS), (self.warps, 9)
        return (*tile, *(("u32", name.name, size) for name, size in rooms))

    def launch(self) -> Stage:
        """A launch of a block for each row."""
        body = self.body
        with body.block() as statements:
            if self.rows > 1:
                self.row = body.counted("row", BLOCK_X, self.rows)
            self.declare()
            with self.own_elements() as (e, j):
                for k, value in enumerate(self.values):
                    body.assign(item(value, e), self.incoming(k, j, 0, None))
            for part, bits in enumerate(self.bits):
                if part and self.by_number:
                    with self.own_elements() as (e, _):
                        number = self._number(item(self.values[1], e))
                        body.assign(item(self.values[0], e), self._word(part, number))
                with body.loop("shift", bits, step=BITS, kind="u32") as shift:
                    self.rank(part, shift, lambda k, e, _: item(self.values[k], e))
                    body.add(BARRIER)
                    with self.own_elements() as (e, j):
                        for value, array in zip(self.values, self.tile, strict=True):
                            body.assign(item(value, e), item(array, j))
            with self.own_elements() as (e, j):
                self.store(self.values, e, j, None)
        return self.kernel.stage(statements, self.rows, THREADS, SORT, shared=self.shared)

    # ------------------------------------------------------------------------- words

    def _at(self, j: Sum) -> Index:
        """The index of an element of this block's row."""
        return self.lines.index(self.row, j)

    def _number(self, read: Expr) -> Sum:
        """The number of an element in its row, that was moved."""
        return unknown(self.body.let("s64", "number", read).name, 0, self.n - 1)

    def words(self, word: Callable[[SortKey, Sum], Expr]) -> list[Part]:
        """The words by which the row is sorted in turn: of keys of 64 bits, the low halves first.

        Parameters
        ----------
        word : gives the word of a key for an element.
        """
        sort_keys = keys(self.instr.called[0])
        return [p for key in sort_keys for p in parts_of(key, partial(word, key))][::-1]

    def word_of_operands(self, key: SortKey, j: Sum) -> Expr:
        """The word of a key for an element of the operands, at a position of the row."""
        values = [self.body.element(o, self._at(j)) for o in self.instr.operands]
        return word_of_key(self.body, self.instr, key, values)

    def _word_of(self, arrays: Arrays, key: SortKey, i: Sum) -> Expr:
        values: list[Expr] = [Literal(0)] * len(arrays)
        for k in operands_of(key):
            kind = self.instr.operands[k].shape.element_type
            values[k] = self.body.let(wide(kind), "value", load(kind, item(arrays[k], i)))
        return word_of_key(self.body, self.instr, key, values)

    def digit(self, arrays: Arrays, i: Sum, part: int, shift: Expr) -> Expr:
        """The digit of an element that arrays hold at an index."""
        word = item(arrays[0], i)
        if not self.by_number:
            word = self.words(partial(self._word_of, arrays))[part][0](i)
        return Cast("u32", Group(word >> shift) & (THREADS - 1))

    # ------------------------------------------------------------------------- elements

    def declare(self) -> None:
        """Declare the arrays of each thread."""
        for k in self.held:
            self.body.add(LocalVariable(self.kinds[k], self.values[k].name, size=self.each))
        self.body.add(LocalVariable("u32", self.ranks.name, size=self.each))

    @contextmanager
    def own_elements(self, *, padded: bool = False) -> Generator[tuple[Sum, Sum]]:
        """Run a block for each of this thread's elements; gives its number, and its position.

        Parameters
        ----------
        padded : so many as there are in a whole tile, though the row may end before.
        """
        thread = Cast("u32", THREAD_X)
        lane = Group(thread / WARP * (WARP * self.each) + thread % WARP)
        with self.body.loop("e", self.each, unroll=True, kind="u32") as e:
            position = Cast("s64", Group(lane + e * WARP))
            j = self.body.let("s64", "j", self.begin + position)
            ragged = self.n % self.size and not padded
            with self.body.when(binary("<", j, self.n) if ragged else None):
                yield counter(e.name, self.each), counter(j.name, self.n)

    def incoming(self, k: int, j: Sum, part: int | None, sources: Arrays | None) -> Expr:
        """An array's element at a position of the row, which is in the order of the digits before.

        Parameters
        ----------
        part : the number of the word whose first digit comes now; None if none does.
        sources : None for the operands.
        """
        position = self.row * self.n + j
        if self.by_number and part is not None:
            number = j if sources is None else self._number(item(sources[1], position))
            return Cast("u32", Group(indexed(number))) if k else self._word(part, number)
        return item(sources[k], position) if sources else self._stored(self.instr.operands[k], j)

    def _stored(self, operand: Instruction, j: Sum) -> Expr:
        element = self.body.element(operand, self._at(j))
        return self.body.stored(operand.shape.element_type, element)

    def _word(self, part: int, number: Sum) -> Expr:
        """One of the words for an element of the operands."""
        return Cast("u32", self.words(self.word_of_operands)[part][0](number))

    def rank(self, part: int, shift: Expr, source: Callable[[int, Sum, Sum], Expr]) -> Name:
        """Put this block's tile in the order of a digit; gives how many elements have digit x.

        x is the number of the thread.

        Parameters
        ----------
        source : gives an array's element, by its number among the thread's own and its position.
        """
        body = self.body
        with self.own_elements(padded=True) as (e, j):
            body.assign(item(self.ranks, e), THREADS - 1)
            with body.when(binary("<", indexed(j), self.n) if self.n % self.size else None):
                body.assign(item(self.ranks, e), self.digit(self.values, e, part, shift))
        arrays = self.ranks, self.counts, self.offsets, self.warps
        count = body.let("u32", "count", apply(FUNCTIONS["rank_digits"], *arrays))
        with self.own_elements() as (e, j):
            for k, array in enumerate(self.tile):
                body.assign(item(array, item(self.ranks, e)), source(k, e, j))
        return count

    def store(self, arrays: Arrays, i: Sum, j: Sum, targets: Arrays | None) -> None:
        """Store the element that arrays hold at an index, at a position of the row.

        Parameters
        ----------
        targets : None for the results.
        """
        body, held = self.body, [item(array, i) for array in arrays]
        position = self.row * self.n + j
        if targets is None:
            position, targets = linear(self._at(j), self.lines.dims), self.outputs
            if self.by_number:
                number = self._number(held[1])
                held = [self._stored(operand, number) for operand in self.instr.operands]
        for target, value in zip(targets, held, strict=True):
            body.assign(item(target, position), value)
