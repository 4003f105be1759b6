"""The k largest or smallest elements of rows, by a block for each row, which reads it once.

An element is a word: its key, of which less comes first, above its number. The block keeps words
that are below the k-th least of those that it has seen. Of a row in no order few are: k log(n / k).
When many are kept, all but the k least are dropped. Where rows are few and long, blocks do this for
parts of a row, and a block of a second launch for the words that they leave.

References
----------
Li et al., *AIR Top-K and GridSelect: parallel top-K algorithms on GPUs*, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import (
    BLOCK_X,
    THREAD_X,
    Cast,
    Expr,
    Literal,
    Name,
    apply,
    at_most,
    binary,
    item,
)
from codegen.opcodes.comparators import SortKey
from emit_cuda.grids.groups import WAVE
from emit_cuda.grids.sorting import LEAST, PADDING, numbered
from emit_cuda.grids.stages import BARRIER, SHARED_BLOCK, WARP, in_turns
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, delinear, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.statements import Statement
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Words that a thread reads in a step.
EACH = 8
# Words that are kept before some are dropped, as in `selecting.cu`.
MOST_FOUND = 512
# Blocks that a multiprocessor is to hold, and steps that are worth a block.
RESIDENT, LEAST_STEPS = 8, 4


def topk_stages(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> list[Stage] | None:
    """Launches for keys of up to 32 bits, and k up to the threads of a block; None for others."""
    attrs, operand = a.TopK.of(instr), instr.operands[0]
    key = SortKey(operand, 0, descending=attrs.largest, total=True)
    n, k = operand.shape.dims[-1], attrs.k
    if operand.shape.element_type.is_complex or key.bits > 32 or not 0 < k <= SHARED_BLOCK:
        return None
    return _Selection(kernel, instr, key).launches(outputs) if LEAST <= n < 1 << 31 else None


@dataclass(frozen=True, slots=True)
class _SelectingBlock:
    """The block for so many words of a row, of which it finds the k least."""

    most: int
    k: int

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return min(SHARED_BLOCK, -(-self.most // WARP) * WARP)

    @property
    def each(self) -> int:
        """Words that a thread reads in a step."""
        return min(EACH, -(-self.most // self.threads))

    @property
    def width(self) -> int:
        """The number of groups of threads whose least words are compared."""
        return 1 << min(2, max(0, (self.threads // (4 * self.k)).bit_length() - 1))

    @property
    def found(self) -> int:
        """Words that may be found: some before a step, and all of the step."""
        return min(self.most, MOST_FOUND + self.threads * self.each)

    @property
    def candidates(self) -> int:
        """Words that are left beside those of k groups, or of a block that has one a thread."""
        of_groups = self.k * self.width * -(-self.found // self.threads)
        return min(self.found, max(self.threads, of_groups))


class _Selection:
    """Writes the launches of a topk."""

    def __init__(self, kernel: CudaKernel, instr: Instruction, key: SortKey) -> None:
        self.kernel, self.body, self.instr, self.key = kernel, kernel.body, instr, key
        (self.operand,), self.k = instr.operands, a.TopK.of(instr).k
        *self.others, self.n = self.operand.shape.dims
        self.row = Sum(0)
        self.words, self.candidates, self.counts = (
            Name(self.body.name(name)) for name in ("words", "candidates", "counts")
        )

    def launches(self, outputs: Sequence[Name]) -> list[Stage]:
        """A launch of a block for each row; or for each part of a row, and then for each row."""
        rows = max(prod(self.others), 1)
        parts = min(-(-WAVE // rows), self.n // (LEAST_STEPS * SHARED_BLOCK * EACH))
        if parts < 2:
            with self.body.block() as statements:
                self._begin(BLOCK_X)
                block = self._select(self._word, Literal(0), self.n, self.n)
                self._write(outputs, block)
            return [self._stage(statements, rows, block)]
        size = -(-self.n // parts)
        parts = -(-self.n // size)
        best = self.kernel.room("u64", "best", rows * parts * self.k)
        with self.body.block() as first:
            number = Cast("s64", BLOCK_X)
            row = self._begin(number / parts)
            begin = self.body.let("s64", "begin", (number - row * parts) * size)
            stop = self.body.let("s64", "stop", at_most(begin + size, self.n))
            block = self._select(self._word, begin, stop, size)
            with in_turns(self.body, "j", self.k, block.threads) as j:
                self.body.assign(item(best, number * self.k + j), item(self.words, j))
        stages = [self._stage(first, rows * parts, block)]
        left = parts * self.k
        with self.body.block() as second:
            row = self._begin(BLOCK_X)
            block = self._select(lambda j: item(best, row * left + j), Literal(0), left, left)
            self._write(outputs, block)
        return [*stages, self._stage(second, rows, block)]

    def _begin(self, number: Expr) -> Name:
        """Name the block's row."""
        row = self.body.let("s64", "row", number)
        self.row = counter(row.name, prod(self.others))
        return row

    def _select(
        self, word: Callable[[Name], Expr], begin: Expr, stop: Expr | int, most: int
    ) -> _SelectingBlock:
        """Find the k least of the words that have a number from `begin` below `stop`.

        Parameters
        ----------
        most : how many these are at most.
        """
        body, block = self.body, _SelectingBlock(most, self.k)
        with in_turns(self.body, "c", 2, block.threads) as c:
            body.assign(item(self.counts, c), 0)
        body.add(BARRIER)
        threshold = body.variable("u64", "threshold", PADDING)
        selected = body.variable("u64", "found", size=block.each)
        room = self.words, self.candidates, self.counts, Literal(self.k), Literal(block.width)
        with body.loop("first", stop, start=begin, step=block.threads * block.each) as first:
            with body.loop("e", block.each, unroll=True) as e:
                j = body.let("s64", "j", first + e * block.threads + THREAD_X)
                body.assign(item(selected, e), PADDING)
                with body.when(binary("<", j, stop)):
                    body.assign(item(selected, e), word(j))
            body.assign(threshold, apply(FUNCTIONS["keep_below"], selected, threshold, *room))
        body.call(FUNCTIONS["keep_least"], *room)
        return block

    def _word(self, j: Name) -> Expr:
        """The word of an element of the row."""
        value = self.body.element(self.operand, self._at(counter(j.name, self.n)))
        return numbered(self.key.word(value), j)

    def _write(self, outputs: Sequence[Name], block: _SelectingBlock) -> None:
        """Store the first k elements, and their numbers."""
        body = self.body
        with in_turns(self.body, "j", self.k, block.threads) as position:
            number = body.let("s64", "number", Cast("u32", item(self.words, position)))
            target = linear(self._at(counter(position.name, self.k)), (*self.others, self.k))
            element = body.element(self.operand, self._at(unknown(number.name, 0, self.n - 1)))
            kind = self.operand.shape.element_type
            body.assign(item(outputs[0], target), body.stored(kind, element))
            body.assign(item(outputs[1], target), Cast("s32", number))

    def _stage(self, statements: Sequence[Statement], blocks: int, block: _SelectingBlock) -> Stage:
        shared = (
            ("u64", self.words.name, block.found),
            ("u64", self.candidates.name, 1 + block.candidates),
            ("u32", self.counts.name, 2),
        )
        return self.kernel.stage(
            statements, blocks, block.threads, "top k", shared=shared, resident=RESIDENT
        )

    def _at(self, j: Sum) -> Index:
        return (*delinear(self.row, self.others), j)
