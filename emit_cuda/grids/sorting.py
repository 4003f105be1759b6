"""Sorts: a block sorts a row in shared memory, or a tile of one; any comparator inlined.

Threads exchange the numbers of the row's elements. Of two that the comparator finds equal the first
one comes first, so that every sort is stable; padding up to a power of two comes last. Where the
comparator compares a key of 32 bits, an element is one word: its key above its number, and words
are exchanged by their size alone.

Longer rows are sorted by digits where the comparator compares keys (`emit_cuda.grids.radix`). Of
others that do not fit, blocks sort tiles, and each further launch merges pairs of sorted runs. It
has a thread for each element, which comes in the merged run after those before it in its own run,
and after those of the other run that a binary search finds to come first; of equal ones, those of
the left run do.

References
----------
Batcher, *Sorting Networks and Their Applications*, 1968; Satish, Harris and Garland, *Designing
Efficient Sorting Algorithms for Manycore GPUs*, 2009; XLA,
`xla/service/llvm_ir/sort_util.cc`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.elements.types import load
from codegen.expressions import (
    BLOCK_X,
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    as_expr,
    at_most,
    binary,
    conjoined,
    indexed,
    item,
)
from codegen.kinds import wide
from codegen.opcodes.axis_lines import AxisLines
from codegen.opcodes.comparators import keys, word_of_key
from codegen.statements import Assign, Break, Forever, If, live
from codegen.walk import spelled_out
from emit_cuda.grids.radix import MOST_LENGTH, digits, radix_stages
from emit_cuda.grids.stages import BARRIER, LARGE_BLOCK, SHARED_BYTES, WARP, each_thread, in_turns
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Shorter rows are sorted by one thread each.
LEAST = 16
# Of a word with a key and a number, and of a number alone.
WORD_BYTES, NUMBER_BYTES = 8, 4
# Shorter rows are sorted by exchanges, even if their comparator compares keys; and so many digits
# take as long as merges do.
MOST_BITONIC, FEW_DIGITS = 512, 16
# A word after all others.
PADDING = ~Cast("u64", Literal(0))


def sort_stages(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> Sequence[Stage] | None:
    """Launches that sort all rows; None for short rows, and for complex numbers without keys."""
    attrs = a.Sort.of(instr)
    axis, dims = attrs.dimensions[0], instr.operands[0].shape.dims
    n = dims[axis]
    complexes = any(o.shape.element_type.is_complex for o in instr.operands)
    by_digits = digits(instr) if n < MOST_LENGTH else 0
    if n < LEAST or (complexes and not by_digits):
        return None
    if complexes or (n > MOST_BITONIC and 0 < by_digits <= FEW_DIGITS):
        return radix_stages(kernel, instr, axis, outputs)
    kind, size = _SortedTile, _tile(instr, n, NUMBER_BYTES)
    if _has_word(instr) and _tile(instr, n, WORD_BYTES) == size:
        kind = _TileOfWords
    tiles = -(-n // size)
    rooms = [kernel.room(o.shape.element_type.name, "sorted", prod(dims)) for o in instr.operands]
    with kernel.body.block() as statements:
        row = kind(kernel, instr, axis, size)
        row.read()
        row.sort()
        row.write(outputs if tiles == 1 else rooms)
    role = "sort" if tiles == 1 else "sort of tiles"
    stages = [kernel.stage(statements, prod(dims) // n * tiles, row.threads, role)]
    if tiles == 1:
        kernel.rooms.clear()
        return stages
    sources, others, run = rooms, list[Name](), size
    while run < n:
        targets, last = others, run * 2 >= n
        if last:
            targets = list(outputs)
        elif not targets:
            types = [o.shape.element_type.name for o in instr.operands]
            targets = [kernel.room(kind, "merged", prod(dims)) for kind in types]
        stages.append(_merge(kernel, instr, axis, run, sources, targets, last=last))
        sources, others, run = targets, sources, run * 2
    return stages


def _tile(instr: Instruction, n: int, bytes_each: int) -> int:
    """The elements that a block can sort, a power of two, of rows of a length.

    Parameters
    ----------
    bytes_each : of shared memory, beside those of the elements.
    """
    bytes_each += sum(o.shape.element_type.bytes for o in instr.operands)
    size = 1 << max(n - 1, 1).bit_length()
    while size * bytes_each > SHARED_BYTES:
        size //= 2
    return size


def _has_word(instr: Instruction) -> bool:
    """Whether a key of an element and its number are one word."""
    sort_keys = keys(instr.called[0])
    return len(sort_keys) == 1 and sort_keys[0].bits <= 32


def _merge(
    kernel: CudaKernel,
    instr: Instruction,
    axis: int,
    run: int,
    sources: Sequence[Name],
    targets: Sequence[Name],
    *,
    last: bool,
) -> Stage:
    """A launch that merges runs of a length in pairs.

    Parameters
    ----------
    sources : the arrays with the runs, row after row.
    last : the targets are the results, whose rows may lie otherwise.
    """
    body = kernel.body
    lines = AxisLines(instr.operands[0].shape.dims, axis)
    n = lines.length
    types = [o.shape.element_type for o in instr.operands]
    thread, zero = Name("thread"), Literal(0)
    with body.block() as statements:
        row = body.let("s64", "row", thread / n)
        j = body.let("s64", "j", thread - row * n)
        number = body.let("s64", "run", j / run)
        is_left = body.let("pred", "is_left", binary("==", Group(number & 1), zero))
        first = body.let("s64", "first", Group(number - Group(number & 1)) * run)
        # The other run, which may be short or empty at the end of a row.
        begin = body.let("s64", "begin", Choose(is_left, first + run, first))
        stop = body.let("s64", "stop", begin + run)
        low = body.variable("s64", "low", at_most(begin, n))
        high = body.variable("s64", "high", at_most(stop, n))
        start = body.let("s64", "start", low)
        bits = [
            body.let(t.name, "own", item(x, thread)) for t, x in zip(types, sources, strict=True)
        ]
        own = [body.let(wide(t), "own", load(t, x)) for t, x in zip(types, bits, strict=True)]
        # Bisection finds how many elements of the other run go before this one.
        with body.block() as search:
            middle = body.let("s64", "middle", Group(low + high) / 2)
            position = body.let("s64", "at", row * n + middle)
            others = [item(x, position) for x in sources]
            before = _goes_before(body, instr, others, own, is_left)
            body.add(If(before, (Assign(low, middle + 1),), (Assign(high, middle),)))
        body.add(Forever((Break(binary(">=", low, high)), *live(search))))
        after = body.let("s64", "after", low - start)
        position_in_row = body.let("s64", "target", first + Group(j - number * run) + after)
        line = counter(row.name, lines.count)
        target = spelled_out(line * n, position_in_row)
        if last and axis != len(lines.dims) - 1:
            index = lines.index(line, counter(position_in_row.name, n))
            target = indexed(linear(index, lines.dims))
        for array, value in zip(targets, bits, strict=True):
            body.assign(item(array, target), value)
    return each_thread("thread", lines.count * n, statements, "merge of sorted runs")


def _goes_before(
    body: Body, instr: Instruction, others: Sequence[Expr], own: Sequence[Expr], is_left: Expr
) -> Expr:
    """Whether an element of the other run goes before one of this run.

    That on the left goes first if they are equal: so that on the right must be less.

    Parameters
    ----------
    others, own : both, as they are stored and as wide values, in all arrays.
    is_left : whether this run is the left one.
    """
    pairs: list[Expr] = []
    for array, bits, value in zip(instr.operands, others, own, strict=True):
        kind = wide(array.shape.element_type)
        other = body.let(kind, "other", load(array.shape.element_type, bits))
        pairs.append(body.let(kind, "left", Choose(is_left, other, value)))
        pairs.append(body.let(kind, "right", Choose(is_left, value, other)))
    before = body.let("pred", "before", body.apply(instr.called[0], *pairs)[0])
    return binary("==", before, is_left)


class _SortedTile:
    """Writes the code of a block with its row, or with a tile of it.

    Attributes
    ----------
    begin, count : the number of the tile's first element in the row, and how many it has.
    values, order : in shared memory, the elements and their numbers in order.
    """

    order_name, order_kind = "order", "s32"

    def __init__(self, kernel: CudaKernel, instr: Instruction, axis: int, size: int) -> None:
        body = self.body = kernel.body
        self.instr, self.size = instr, size
        self.lines = AxisLines(instr.operands[0].shape.dims, axis)
        self.n = self.lines.length
        self.types = [o.shape.element_type for o in instr.operands]
        self.threads = min(max(size // 2, WARP), LARGE_BLOCK)
        self.values = [kernel.shared_array(t.name, "values", size) for t in self.types]
        self.order = kernel.shared_array(self.order_kind, self.order_name, size)
        tiles = -(-self.n // size)
        self.number, self.begin, self.count = Sum(0), Sum(0), as_expr(self.n)
        block: Expr = BLOCK_X
        if tiles > 1:
            begin = body.let("s64", "begin", block % tiles * size)
            self.begin = counter(begin.name, self.n)
            whole = binary("<", begin + size, self.n)
            self.count = body.let("s64", "count", Choose(whole, Literal(size), self.n - begin))
            block = block / tiles
        if self.lines.count > 1:
            self.number = body.counted("row", block, self.lines.count)

    def _at(self, j: Sum) -> Index:
        return self.lines.index(self.number, self.begin + j)

    def read(self) -> None:
        """Bring the row into shared memory."""
        body = self.body
        with in_turns(self.body, "j", self.size, self.threads) as number:
            self._number(number)
            j = counter(number.name, self.n)
            with body.when(binary("<", number, self.count) if self.n % self.size else None):
                values = [body.element(o, self._at(j)) for o in self.instr.operands]
                for array, kind, value in zip(self.values, self.types, values, strict=True):
                    body.assign(item(array, j), body.stored(kind, value))
                self._found(number, values)
        body.add(BARRIER)

    def _number(self, number: Name) -> None:
        """Write the order's entry of an element or of padding, before any value is known."""
        self.body.assign(item(self.order, number), Cast("s32", number))

    def _found(self, number: Name, values: Sequence[Expr]) -> None:
        """Write the order's entry of an element, once its values are known."""

    def _number_at(self, position: Name) -> Expr:
        """The number of the element that comes at a position."""
        return item(self.order, position)

    def sort(self) -> None:
        """All exchanges: runs of 2, 4, 8, ... are merged, whose halves run against each other."""
        body = self.body
        levels = self.size.bit_length() - 1
        with body.loop("level", levels) as level, body.loop("down", level + 1) as down:
            stride = body.let("s64", "stride", Cast("s64", Literal(1)) << Group(level - down))
            with in_turns(self.body, "pair", self.size // 2, self.threads) as p:
                first = body.let("s64", "first", p * 2 - Group(p & Group(stride - 1)))
                self._exchange(first, first + stride, level)
            body.add(BARRIER)

    def _exchange(self, first: Expr, second: Expr, level: Name) -> None:
        """Put two numbers in the order of their run."""
        body = self.body
        x, y = (body.let("s32", "number", item(self.order, at)) for at in (first, second))
        swap = body.variable("pred", "second_is_first", binary("<", y, x))
        exist = conjoined([binary("<", x, self.count), binary("<", y, self.count)])
        with body.when(exist):
            before, after = self._compared(y, x), self._compared(x, y)
            tied = conjoined([binary("==", before, after), binary("<", y, x)])
            body.add(Assign(swap, before))
            body.add(If(tied, (Assign(swap, Literal(1)),)))
        self._swap_if((first, second), (x, y), swap, level)

    def _swap_if(
        self, positions: tuple[Expr, Expr], entries: tuple[Name, Name], swap: Expr, level: Name
    ) -> None:
        """Swap two entries if a condition holds; in a falling run, if it does not."""
        (first, second), (x, y) = positions, entries
        forwards = binary("==", Group(Group(first >> Group(level + 1)) & 1), 0)
        ascending = self.body.let("pred", "forwards", forwards)
        swapped = (Assign(item(self.order, first), y), Assign(item(self.order, second), x))
        self.body.add(If(binary("==", swap, ascending), swapped))

    def _compared(self, x: Name, y: Name) -> Name:
        """Whether the comparator puts one element before another one."""
        body = self.body
        pairs = [
            body.let(wide(kind), "key", load(kind, item(array, number)))
            for array, kind in zip(self.values, self.types, strict=True)
            for number in (x, y)
        ]
        return body.let("pred", "before", body.apply(self.instr.called[0], *pairs)[0])

    def write(self, outputs: Sequence[Name]) -> None:
        """Store the row in order; of tiles, one row after the other."""
        body = self.body
        with in_turns(self.body, "j", self.count, self.threads) as position:
            number = body.let("s64", "number", self._number_at(position))
            j = counter(position.name, self.n)
            target = linear(self._at(j), self.lines.dims)
            if self.n > self.size:
                target = self.number * self.n + self.begin + j
            for output, array in zip(outputs, self.values, strict=True):
                body.assign(item(output, target), item(array, number))


class _TileOfWords(_SortedTile):
    """Writes the code of a block that sorts words: keys above numbers."""

    order_name, order_kind = "words", "u64"

    def _number(self, number: Name) -> None:
        if self.n % self.size:
            self.body.assign(item(self.order, number), PADDING)

    def _found(self, number: Name, values: Sequence[Expr]) -> None:
        (key,) = keys(self.instr.called[0])
        word = word_of_key(self.body, self.instr, key, values)
        self.body.assign(item(self.order, number), numbered(word, number))

    def _number_at(self, position: Name) -> Expr:
        return Cast("u32", item(self.order, position))

    def _exchange(self, first: Expr, second: Expr, level: Name) -> None:
        """Put two words in the order of their run."""
        body = self.body
        x, y = (body.let("u64", "word", item(self.order, at)) for at in (first, second))
        self._swap_if((first, second), (x, y), Group(binary("<", y, x)), level)


def numbered(key: Expr, number: Name) -> Expr:
    """The word of an element: its key of 32 bits above its number."""
    return Group(Cast("u64", key) << 32) | Cast("u32", number)
