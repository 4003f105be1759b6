"""The k largest or smallest elements of rows, by a block for each row.

An element is a word: its key, of which less comes first, above its number. Runs as long as k, or
the next power of two, are sorted, each in the other direction than the one before. Of two such runs
the less of each two words at equal positions are the least half of both. So each round leaves one
run of two, which few exchanges sort again, until only one is left.

References
----------
Shanbhag, Pirk and Madden, *Efficient Top-K Query Processing on GPUs*, 2018.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.elements.types import store
from codegen.expressions import Cast, Expr, Group, Literal, Name, binary, item
from codegen.opcodes.comparators import SortKey
from codegen.statements import Assign, If
from emit_cuda.kernels.folding import BARRIER, WARP
from emit_cuda.kernels.sorting import (
    LEAST,
    MOST_THREADS,
    PADDING,
    WORD_BYTES,
    exchange,
    numbered,
)
from emit_cuda.kernels.stages import SHARED_BYTES, Stage
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, delinear, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from emit_cuda.kernels.kernel import CudaKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index


def topk_stage(kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]) -> Stage | None:
    """A launch for rows that fit into shared memory, of keys of up to 32 bits; None for others."""
    attrs, operand = a.TopK.of(instr), instr.operands[0]
    n = operand.shape.dims[-1]
    key = SortKey(operand, 0, descending=attrs.largest, total=True)
    size = 1 << max(n - 1, 1).bit_length()
    if operand.shape.element_type.is_complex or key.bits > 32 or attrs.k == 0:
        return None
    if n < LEAST or size * WORD_BYTES > SHARED_BYTES:
        return None
    with kernel.body.block() as statements:
        tile = _RunsOfWords(kernel, instr, key, size)
        tile.read()
        tile.sort_runs()
        tile.drop_runs()
        tile.write(outputs)
    shared = (("u64", tile.words.name, size),)
    grid = (prod(operand.shape.dims[:-1]), 1, 1)
    return Stage(tuple(statements), grid, (tile.threads, 1, 1), shared, kind="top k")


class _RunsOfWords:
    """Writes the code of a block with its row.

    Parameters
    ----------
    size : words in shared memory, a power of two.

    Attributes
    ----------
    run : words of a run, a power of two.
    """

    def __init__(self, kernel: CudaKernel, instr: Instruction, key: SortKey, size: int) -> None:
        self.body, self.instr, self.key, self.size = kernel.body, instr, key, size
        self.operand = instr.operands[0]
        *self.others, self.n = self.operand.shape.dims
        self.k = a.TopK.of(instr).k
        self.run = 1 << (self.k - 1).bit_length()
        self.threads = min(max(size // 2, WARP), MOST_THREADS)
        self.words = Name(self.body.name("words"))
        row = self.body.let("s64", "row", Name("blockIdx.x"))
        self.row = counter(row.name, prod(self.others))

    def read(self) -> None:
        """Bring the words of the row into shared memory, and padding behind them."""
        body = self.body
        with self._in_turns("j", self.size) as number:
            ragged = self.n < self.size
            if ragged:
                body.assign(item(self.words, number), PADDING)
            with body.when(binary("<", number, self.n) if ragged else None):
                value = body.element(self.operand, self._at(counter(number.name, self.n)))
                body.assign(item(self.words, number), numbered(self.key.word(value), number))
        body.add(BARRIER)

    def sort_runs(self) -> None:
        """Sort all runs, in alternating directions."""
        body, levels = self.body, self.run.bit_length() - 1
        if not levels:
            return
        with body.loop("level", levels) as level, body.loop("down", level + 1) as down:
            stride = body.let("s64", "stride", Cast("s64", Literal(1)) << Group(level - down))
            with self._in_turns("pair", self.size // 2) as p:
                first = body.let("s64", "first", p * 2 - Group(p & Group(stride - 1)))
                forwards = binary("==", Group(Group(first >> Group(level + 1)) & 1), 0)
                exchange(body, self.words, (first, first + stride), forwards)
            body.add(BARRIER)

    def drop_runs(self) -> None:
        """Leave one run of two, again and again; the ones that are left lie further apart."""
        body, run = self.body, self.run
        rounds = (self.size // run).bit_length() - 1
        if not rounds:
            return
        with body.loop("round", rounds) as round_:
            apart = body.let("s64", "apart", Cast("s64", Literal(run)) << round_)
            pairs = body.let("s64", "pairs", Cast("s64", Literal(self.size // 2 // run)) >> round_)
            with self._in_turns("j", pairs * run) as j:
                first = body.let("s64", "first", j / run * 2 * apart + j % run)
                word = body.let("u64", "word", item(self.words, first + apart))
                least = item(self.words, first)
                body.add(If(binary("<", word, least), (Assign(least, word),)))
            body.add(BARRIER)
            if run > 1:
                self._sort_again(apart, pairs)

    def _sort_again(self, apart: Expr, pairs: Expr) -> None:
        """Sort the runs that are left, of which each rises and then falls, or the reverse."""
        body, half = self.body, self.run // 2
        with body.loop("down", half.bit_length()) as down:
            stride = body.let("s64", "stride", Cast("s64", Literal(half)) >> down)
            with self._in_turns("pair", pairs * half) as p:
                number = body.let("s64", "run", p / half)
                position = body.let("s64", "place", p % half)
                inside = position * 2 - Group(position & Group(stride - 1))
                first = body.let("s64", "first", number * 2 * apart + inside)
                forwards = binary("==", Group(number & 1), 0)
                exchange(body, self.words, (first, first + stride), forwards)
            body.add(BARRIER)

    def write(self, outputs: Sequence[Name]) -> None:
        """Store the first k elements, and their numbers."""
        body = self.body
        with self._in_turns("j", self.k) as position:
            number = body.let("s64", "number", Cast("u32", item(self.words, position)))
            target = linear(self._at(counter(position.name, self.k)), (*self.others, self.k))
            element = body.element(self.operand, self._at(unknown(number.name, 0, self.n - 1)))
            kind = self.operand.shape.element_type
            body.assign(item(outputs[0], target), store(kind, element))
            body.assign(item(outputs[1], target), Cast("s32", number))

    def _at(self, j: Sum) -> Index:
        return (*delinear(self.row, self.others), j)

    def _in_turns(self, name: str, stop: int | Expr) -> AbstractContextManager[Name]:
        """Statements for each number below a bound, each by one of the block's threads."""
        return self.body.loop(name, stop, start=Name("threadIdx.x"), step=self.threads)
