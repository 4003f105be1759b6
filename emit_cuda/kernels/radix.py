"""Sorts by keys: digit by digit, the lowest first.

Where a comparator compares keys (see `codegen.opcodes.comparators`), each element has a word of the
same order. A block puts a tile of a row in the order of 8 bits of these words. Equal digits stay in
order, so that the sort is stable. Where the row is one tile, the block goes on with the next bits.
Else one launch counts all digits of all rows, and another one for each digit moves the elements.
The blocks of a row tell each other how often their tiles have which digit. A block waits only for
blocks that began before it.

Elements of few bytes are moved themselves, and their words are computed again for each digit. Of
others a word and a number are moved, and the last launch fetches the elements.

References
----------
Adinets and Merrill, *Onesweep: A Faster Least Significant Digit Radix Sort for GPUs*, 2022; XLA,
`xla/service/gpu/transforms/sort_rewriter.cc`.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from codegen.elements.types import load, wide
from codegen.expressions import (
    Cast,
    Choose,
    Group,
    Literal,
    Name,
    Op,
    apply,
    binary,
    indexed,
    item,
)
from codegen.opcodes.comparators import keys
from codegen.opcodes.ordering import operands_of, parts_of, word_of_key
from codegen.statements import Assign, Call, LocalVariable, live
from emit_cuda.kernels.axis_lines import AxisLines
from emit_cuda.kernels.folding import BARRIER, WARP
from emit_cuda.kernels.stages import Stage, each_thread, thread_number
from optimizer.analysis.indexing import Sum, counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence

    from codegen.expressions import Expr
    from codegen.opcodes.comparators import SortKey
    from codegen.opcodes.ordering import Part
    from emit_cuda.kernels.folding import Shared
    from emit_cuda.kernels.kernel import CudaKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

    Arrays = Sequence[Name]

# As in `sorting.cu`: threads, which are as many as digits have values.
THREADS, BITS = 256, 8
# Elements of a tile that a thread has at most; and bytes of an element that is moved itself.
EACH, MOST_BYTES = 16, 8
# The places in a row that states can count; and the digits for whose counts a block has memory.
MOST_PLACES, MOST_DIGITS = 1 << 30, 48
# Blocks that count digits, where there is work for so many.
COUNTING = 1056

# The launches.
KINDS = SORT, ZEROS, COUNTS, MOVE = (
    "sort by digits",
    "zeros of a sort",
    "counts of digits",
    "move by digit",
)


def digits(instr: Instruction) -> int:
    """The number of digits in a sort's keys; 0 where its comparator compares none, or too many."""
    found = sum(-(-key.bits // BITS) for key in keys(instr.called[0]))
    return found if found <= MOST_DIGITS else 0


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
        return _SortOfTiles(kernel, instr, axis, outputs, EACH).launches()
    each = -(-instr.operands[0].shape.dims[axis] // THREADS)
    return [_DigitSort(kernel, instr, axis, outputs, each).launch()]


class _DigitSort:
    """Writes the launch of a sort whose rows are one tile each.

    Parameters
    ----------
    each : elements of a tile that each thread has.

    Attributes
    ----------
    by_number : an element is held as its word and its number, not as it is stored.
    begin : the place in the row at which the tile begins.
    values, tile : arrays that hold elements: those of a thread, and those of a tile.
    parts : of the words, the least important first: how many bits.
    held : the numbers of the arrays of which a thread holds elements while it ranks them.
    """

    def __init__(
        self,
        kernel: CudaKernel,
        instr: Instruction,
        axis: int,
        outputs: Sequence[Name],
        each: int,
    ) -> None:
        self.kernel, self.body, self.instr, self.outputs = kernel, kernel.body, instr, outputs
        self.each, self.size = each, each * THREADS
        self.lines = AxisLines(instr.operands[0].shape.dims, axis)
        self.n, self.rows, self.row = self.lines.length, self.lines.count, Sum(0)
        self.begin: Expr = Literal(0)
        types = [o.shape.element_type for o in instr.operands]
        is_complex = any(kind.is_complex for kind in types)
        self.by_number = is_complex or sum(kind.bytes for kind in types) > MOST_BYTES
        self.kinds = ["u32", "u32"] if self.by_number else [kind.name for kind in types]
        self.values = [Name(self.body.name("values")) for _ in self.kinds]
        self.tile = [Name(self.body.name("tile")) for _ in self.kinds]
        self.places, self.counts, self.firsts, self.warps = (
            Name(self.body.name(name)) for name in ("places", "counts", "firsts", "warps")
        )
        self.parts = [bits for _, bits in self._parts(self._word_of_operands)]
        self.held: Collection[int] = range(len(self.kinds))

    @property
    def shared(self) -> Shared:
        """A tile, and the counts by which it is put in order."""
        tile = ((k, a.name, self.size) for k, a in zip(self.kinds, self.tile, strict=True))
        rooms = (self.counts, THREADS // WARP * THREADS), (self.firsts, THREADS), (self.warps, 9)
        return (*tile, *(("u32", name.name, size) for name, size in rooms))

    def launch(self) -> Stage:
        """A launch of a block for each row."""
        body = self.body
        with body.block() as statements:
            if self.rows > 1:
                row = body.let("s64", "row", Name("blockIdx.x"))
                self.row = counter(row.name, self.rows)
            self._declare()
            with self._each_own() as (e, j):
                for k, value in enumerate(self.values):
                    body.assign(item(value, e), self._source(k, j, 0, None))
            for part, bits in enumerate(self.parts):
                if part and self.by_number:
                    with self._each_own() as (e, _):
                        number = self._number(item(self.values[1], e))
                        body.assign(item(self.values[0], e), self._word(part, number))
                with body.loop("shift", bits, step=BITS, kind="u32") as shift:
                    self._rank(part, shift, lambda k, e, _: item(self.values[k], e))
                    body.add(BARRIER)
                    with self._each_own() as (e, j):
                        for value, array in zip(self.values, self.tile, strict=True):
                            body.assign(item(value, e), item(array, j))
            with self._each_own() as (e, j):
                self._write(self.values, e, j, None)
        grid, block = (self.rows, 1, 1), (THREADS, 1, 1)
        return Stage(live(statements), grid, block, self.shared, kind=SORT)

    # ------------------------------------------------------------------------- words

    def _at(self, j: Sum) -> Index:
        """The index of an element of this block's row."""
        return self.lines.index(self.row, j)

    def _number(self, read: Expr) -> Sum:
        """The number of an element in its row, that was moved."""
        return unknown(self.body.let("s64", "number", read).name, 0, self.n - 1)

    def _parts(self, word: Callable[[SortKey, Sum], Expr]) -> list[Part]:
        """The words of the keys by which it is sorted in turn, given a key's word."""
        found = keys(self.instr.called[0])
        return [p for key in found for p in parts_of(key, partial(word, key))][::-1]

    def _word_of_operands(self, key: SortKey, j: Sum) -> Expr:
        values = [self.body.element(o, self._at(j)) for o in self.instr.operands]
        return word_of_key(self.body, self.instr, key, values)

    def _word_of(self, arrays: Arrays, key: SortKey, i: Sum) -> Expr:
        values: list[Expr] = [Literal(0)] * len(arrays)
        for k in operands_of(key):
            kind = self.instr.operands[k].shape.element_type
            values[k] = self.body.let(wide(kind), "value", load(kind, item(arrays[k], i)))
        return word_of_key(self.body, self.instr, key, values)

    def _digit(self, arrays: Arrays, i: Sum, part: int, shift: Expr) -> Expr:
        """The digit of an element that arrays hold at an index."""
        word = item(arrays[0], i)
        if not self.by_number:
            word = self._parts(partial(self._word_of, arrays))[part][0](i)
        return Cast("u32", Group(word >> shift) & (THREADS - 1))

    # ------------------------------------------------------------------------- elements

    def _declare(self) -> None:
        """Declare the arrays of each thread."""
        for k in self.held:
            self.body.add(LocalVariable(self.kinds[k], self.values[k].name, size=self.each))
        self.body.add(LocalVariable("u32", self.places.name, size=self.each))

    @contextmanager
    def _each_own(self, *, all_places: bool = False) -> Generator[tuple[Sum, Sum]]:
        """Run a block for each element that this thread has of the row, or each place in the tile.

        Gives its number among the thread's own, and the place in the row.
        """
        thread = Cast("u32", Name("threadIdx.x"))
        lane = Group(thread / WARP * (WARP * self.each) + thread % WARP)
        with self.body.loop("e", self.each, unroll=True, kind="u32") as e:
            place = Cast("s64", Group(lane + e * WARP))
            j = self.body.let("s64", "j", self.begin + place)
            ragged = self.n % self.size and not all_places
            with self.body.when(binary("<", j, self.n) if ragged else None):
                yield counter(e.name, self.each), counter(j.name, self.n)

    def _source(self, k: int, j: Sum, part: int | None, sources: Arrays | None) -> Expr:
        """An array's element that comes at a place of the row, by the digits until now.

        Parameters
        ----------
        part : of the words, that begins now; None if none does.
        sources : None for the operands.
        """
        place = self.row * self.n + j
        if self.by_number and part is not None:
            number = j if sources is None else self._number(item(sources[1], place))
            return Cast("u32", Group(indexed(number))) if k else self._word(part, number)
        return item(sources[k], place) if sources else self._stored(self.instr.operands[k], j)

    def _stored(self, operand: Instruction, j: Sum) -> Expr:
        """An element of an operand, as it is stored."""
        element = self.body.element(operand, self._at(j))
        return self.body.stored(operand.shape.element_type, element)

    def _word(self, part: int, number: Sum) -> Expr:
        """The word of a part for an element of the operands."""
        return Cast("u32", self._parts(self._word_of_operands)[part][0](number))

    def _rank(self, part: int, shift: Expr, source: Callable[[int, Sum, Sum], Expr]) -> Name:
        """Move this block's tile to its order by a digit; gives how many have the thread's.

        Parameters
        ----------
        source : gives an array's element, by its number among the thread's own and its place.
        """
        body = self.body
        with self._each_own(all_places=True) as (e, j):
            body.assign(item(self.places, e), THREADS - 1)
            with body.when(binary("<", indexed(j), self.n) if self.n % self.size else None):
                body.assign(item(self.places, e), self._digit(self.values, e, part, shift))
        arrays = self.places, self.counts, self.firsts, self.warps
        count = body.let("u32", "count", apply("rank_digits", *arrays))
        with self._each_own() as (e, j):
            for k, array in enumerate(self.tile):
                body.assign(item(array, item(self.places, e)), source(k, e, j))
        return count

    def _write(self, arrays: Arrays, i: Sum, j: Sum, targets: Arrays | None) -> None:
        """Store the element that arrays hold at an index, at a place of the row.

        Parameters
        ----------
        targets : None for the results.
        """
        body, held = self.body, [item(array, i) for array in arrays]
        place = self.row * self.n + j
        if targets is None:
            place, targets = linear(self._at(j), self.lines.dims), self.outputs
            if self.by_number:
                number = self._number(held[1])
                held = [self._stored(operand, number) for operand in self.instr.operands]
        for target, value in zip(targets, held, strict=True):
            body.assign(item(target, place), value)


class _SortOfTiles(_DigitSort):
    """Writes the launches of a sort whose rows are several tiles each.

    Attributes
    ----------
    passes : for each digit, the part of the words that it is in, and the bits below it.
    state : how many blocks of each pass have begun; for each pass how often a row has each digit;
        and for each pass the states of all tiles, as in `sorting.cu`.
    """

    def launches(self) -> list[Stage]:
        """Zeros; the counts of all digits; and a launch for each digit, which moves by it."""
        self.tiles = -(-self.n // self.size)
        # Registers are few: elements that tell no digit are read when their places are known.
        self.held = [0] if self.by_number else operands_of(*keys(self.instr.called[0]))
        self.passes = [(k, s) for k, bits in enumerate(self.parts) for s in range(0, bits, BITS)]
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
        own, thread = Name(body.name("own_counts")), Name("threadIdx.x")
        group = -(-self.rows * self.tiles // COUNTING)
        groups = -(-self.tiles // group)
        blocks = self.rows * groups
        with body.block() as statements:
            step = blocks * THREADS
            with body.loop("c", states, start=thread_number(THREADS), step=step) as c:
                body.assign(item(self.state, c + self.counted), 0)
            first = self._begin_tile(Cast("s64", Name("blockIdx.x")), groups) * group
            with body.loop("c", count * THREADS, start=thread, step=THREADS) as c:
                body.assign(item(own, c), 0)
            body.add(BARRIER)
            whole = binary("<", first + group, self.tiles)
            stop = body.let("s64", "stop", Choose(whole, first + group, Literal(self.tiles)))
            with body.loop("tile_number", stop, start=first) as tile:
                self.begin = tile * self.size
                with self._each_own() as (_, j):
                    self._count_digits(own, j)
            body.add(BARRIER)
            with body.loop("c", count * THREADS, start=thread, step=THREADS) as c:
                row = Group(c / THREADS * self.rows + indexed(self.row))
                total = item(self.state, row * THREADS + c % THREADS + THREADS)
                body.add(_added(total, item(own, c)))
        shared: Shared = (("u32", own.name, count * THREADS),)
        return Stage(live(statements), (blocks, 1, 1), (THREADS, 1, 1), shared, kind=COUNTS)

    def _count_digits(self, own: Name, j: Sum) -> None:
        """Count the digits of an element."""
        words = [
            self.body.let("u32", "word", Cast("u32", word(j)))
            for word, _ in self._parts(self._word_of_operands)
        ]
        for number, (part, shift) in enumerate(self.passes):
            digit = Group(words[part] >> shift) & (THREADS - 1)
            place = item(own, Group(digit) + number * THREADS)
            self.body.add(_added(place, Literal(1, "u32")))

    def _move(self, number: int, sources: Arrays | None, targets: Arrays | None) -> Stage:
        """A launch that moves all rows by a digit.

        Parameters
        ----------
        sources, targets : in the order of the digits before, and of this one; None for the operands
            and the results.
        """
        body, (part, shift) = self.body, self.passes[number]
        with body.block() as statements:
            ticket = apply("ticket", self.state + number, self.warps)
            block = body.let("s64", "block", ticket)
            tile = self._begin_tile(block, self.tiles)
            self.begin = body.let("s64", "begin", tile * self.size)
            self._declare()
            begun = None if shift else part
            with self._each_own() as (e, j):
                for k in self.held:
                    read = self._source(k, j, begun, sources)
                    body.assign(item(self.values[k], e), read)

            def source(k: int, e: Sum, j: Sum) -> Expr:
                held = k in self.held
                return item(self.values[k], e) if held else self._source(k, j, begun, sources)

            count = self._rank(part, Literal(shift), source)
            totals = self.row * THREADS + (THREADS + number * self.totals)
            first = self.counted + number * self.totals * self.tiles
            states = self.row * (self.tiles * THREADS) + first
            both = [self.state + indexed(each) for each in (states, totals)]
            body.call("find_targets", *both, tile, count, self.firsts, self.warps)
            with body.loop("e", self.each, unroll=True, kind="u32") as e:
                place = body.let("u32", "place", e * THREADS + Name("threadIdx.x"))
                inside = binary("<", self.begin + place, self.n) if self.n % self.size else None
                with body.when(inside):
                    i = counter(place.name, self.size)
                    digit = self._digit(self.tile, i, part, Literal(shift))
                    target = Cast("u32", Group(item(self.firsts, digit) + place))
                    j = counter(body.let("s64", "j", target).name, self.n)
                    self._write(self.tile, i, j, targets)
        grid, block = (self.rows * self.tiles, 1, 1), (THREADS, 1, 1)
        return Stage(live(statements), grid, block, self.shared, kind=MOVE, resident=4)


def _added(target: Expr, value: Expr) -> Call:
    """An atomic addition."""
    return Call("atomicAdd", (Op("&", (target,)), value))
