"""Sorts by keys: digit by digit, the lowest first, in a launch for each.

A row of one tile is sorted by one block (`emit_cuda.grids.radix_tile`). Of longer rows one launch
counts all digits, which gives a histogram of each digit for each row, and another one for each
digit moves the elements. The blocks of a row tell each other how often their tiles have which
digit (*decoupled look-back*). A block waits only for blocks that began before it.

References
----------
Adinets and Merrill, *Onesweep: A Faster Least Significant Digit Radix Sort for GPUs*, 2022; XLA,
`xla/service/gpu/transforms/sort_rewriter.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import (
    BLOCK_X,
    THREAD_X,
    Cast,
    Group,
    Literal,
    Name,
    Op,
    apply,
    at_most,
    binary,
    indexed,
    item,
)
from codegen.opcodes.comparators import keys, operands_of
from codegen.statements import Assign, Call
from emit_cuda.grids.groups import WAVE
from emit_cuda.grids.radix_tile import BITS, SORT, THREADS, RadixTile
from emit_cuda.grids.stages import BARRIER, each_thread, in_turns, thread_number
from optimizer.analysis.indexing import Sum, counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction

    Arrays = Sequence[Name]

# Elements of a tile that a thread has at most.
EACH = 16
# The length of rows whose elements states can count; and the digits whose histograms fit a block.
MOST_LENGTH, MOST_DIGITS = 1 << 30, 48

# The kinds of launches.
ZEROS, COUNTS, MOVE = "zeros of a sort", "counts of digits", "move by digit"
KINDS = SORT, ZEROS, COUNTS, MOVE


def digits(instr: Instruction) -> int:
    """The number of digits in a sort's keys; 0 where its comparator compares none, or too many."""
    number = sum(-(-key.bits // BITS) for key in keys(instr.called[0]))
    return number if number <= MOST_DIGITS else 0


def radix_stages(
    kernel: CudaKernel, instr: Instruction, axis: int, outputs: Sequence[Name]
) -> list[Stage]:
    """Launches that sort all rows by the keys that the comparator compares.

    Parameters
    ----------
    axis : along which the rows lie.
    """
    tiles = -(-instr.operands[0].shape.dims[axis] // (EACH * THREADS))
    if tiles > 1:
        return _RowsOfTiles(kernel, instr, axis, outputs, EACH).launches()
    per_thread = -(-instr.operands[0].shape.dims[axis] // THREADS)
    return [RadixTile(kernel, instr, axis, outputs, per_thread).launch()]


class _RowsOfTiles(RadixTile):
    """Writes the launches of a sort whose rows are several tiles each.

    Attributes
    ----------
    passes : for each digit, the number of the word that it is in, and the bits below it.
    state : how many blocks of each pass have begun; for each pass how often a row has each digit;
        and for each pass the states of all tiles, as in `sorting.cu`.
    """

    def launches(self) -> list[Stage]:
        """Zeros; the counts of all digits; and a launch for each digit, which moves by it."""
        self.tiles = -(-self.n // self.size)
        # Registers are few: elements that tell no digit are read when their positions are known.
        self.held = [0] if self.by_number else operands_of(*keys(self.instr.called[0]))
        self.passes = [(k, s) for k, bits in enumerate(self.bits) for s in range(0, bits, BITS)]
        self.totals = self.rows * THREADS
        count = len(self.passes)
        self.counted = THREADS + count * self.totals
        states = count * self.totals * self.tiles
        self.state = self.kernel.room("u32", "state", self.counted + states)
        zero = Assign(item(self.state, Name("thread")), Literal(0))
        stages = [each_thread("thread", self.counted, [zero], ZEROS), self._count(states)]
        moved = [
            [self.kernel.room(kind, "moved", self.n * self.rows) for kind in self.kinds]
            for _ in range(min(count - 1, 2))
        ]
        for number in range(count):
            sources = moved[(number - 1) % 2] if number else None
            targets = moved[number % 2] if number < count - 1 else None
            stages.append(self._move(number, sources, targets))
        return stages

    def _begin_tile(self, block: Expr, tiles: int) -> Name:
        """Name this block's row, and its number among the blocks of the row."""
        row = self.body.let("s64", "row", block / tiles)
        self.row = counter(row.name, self.rows)
        return self.body.let("s64", "tile_number", block - row * tiles)

    def _count(self, states: int) -> Stage:
        """A launch that counts the digits of all rows; each block those of several tiles.

        Parameters
        ----------
        states : how many there are, which it sets to 0.
        """
        body, count = self.body, len(self.passes)
        own = self.kernel.shared_array("u32", "own_counts", count * THREADS)
        # A multiprocessor has room for eight such blocks.
        group = -(-self.rows * self.tiles // (2 * WAVE))
        groups = -(-self.tiles // group)
        blocks = self.rows * groups
        with body.block() as statements:
            step = blocks * THREADS
            with body.loop("c", states, start=thread_number(THREADS), step=step) as c:
                body.assign(item(self.state, c + self.counted), 0)
            first = self._begin_tile(Cast("s64", BLOCK_X), groups) * group
            with in_turns(body, "c", count * THREADS, THREADS) as c:
                body.assign(item(own, c), 0)
            body.add(BARRIER)
            stop = body.let("s64", "stop", at_most(first + group, self.tiles))
            with body.loop("tile_number", stop, start=first) as tile:
                self.begin = tile * self.size
                with self.own_elements() as (_, j):
                    self._count_digits(own, j)
            body.add(BARRIER)
            with in_turns(body, "c", count * THREADS, THREADS) as c:
                row = Group(c / THREADS * self.rows + indexed(self.row))
                total = item(self.state, row * THREADS + c % THREADS + THREADS)
                body.add(_added(total, item(own, c)))
        return self.kernel.stage(statements, blocks, THREADS, COUNTS)

    def _count_digits(self, own: Name, j: Sum) -> None:
        words = [
            self.body.let("u32", "word", Cast("u32", word(j)))
            for word, _ in self.words(self.word_of_operands)
        ]
        for number, (part, shift) in enumerate(self.passes):
            digit = Group(words[part] >> shift) & (THREADS - 1)
            position = item(own, Group(digit) + number * THREADS)
            self.body.add(_added(position, Literal(1, "u32")))

    def _move(self, number: int, sources: Arrays | None, targets: Arrays | None) -> Stage:
        """A launch that moves all rows by a digit.

        Parameters
        ----------
        sources, targets : in the order of the digits before, and of this one; None for the operands
            and the results.
        """
        body, (part, shift) = self.body, self.passes[number]
        with body.block() as statements:
            ticket = apply(FUNCTIONS["ticket"], self.state + number, self.warps)
            block = body.let("s64", "block", ticket)
            tile = self._begin_tile(block, self.tiles)
            self.begin = body.let("s64", "begin", tile * self.size)
            self.declare()
            begun = None if shift else part
            with self.own_elements() as (e, j):
                for k in self.held:
                    read = self.incoming(k, j, begun, sources)
                    body.assign(item(self.values[k], e), read)

            def source(k: int, e: Sum, j: Sum) -> Expr:
                held = k in self.held
                return item(self.values[k], e) if held else self.incoming(k, j, begun, sources)

            count = self.rank(part, Literal(shift), source)
            totals = self.row * THREADS + (THREADS + number * self.totals)
            first = self.counted + number * self.totals * self.tiles
            states = self.row * (self.tiles * THREADS) + first
            both = [self.state + indexed(offset) for offset in (states, totals)]
            body.call(FUNCTIONS["offsets_in_row"], *both, tile, count, self.offsets, self.warps)
            with body.loop("e", self.each, unroll=True, kind="u32") as e:
                position = body.let("u32", "position", e * THREADS + THREAD_X)
                inside = binary("<", self.begin + position, self.n) if self.n % self.size else None
                with body.when(inside):
                    i = counter(position.name, self.size)
                    digit = self.digit(self.tile, i, part, Literal(shift))
                    target = Cast("u32", Group(item(self.offsets, digit) + position))
                    j = body.counted("j", target, self.n)
                    self.store(self.tile, i, j, targets)
        return self.kernel.stage(
            statements, self.rows * self.tiles, THREADS, MOVE, shared=self.shared, resident=4
        )


def _added(target: Expr, value: Expr) -> Call:
    """An atomic addition."""
    return Call(FUNCTIONS["atomicAdd"], (Op("&", (target,)), value))
