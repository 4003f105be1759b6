"""Fourier transforms: many lines at once, in the lanes of vectors.

Lines are taken into the lanes of an array in the cache, transformed there, and given to where
their transforms are to be; each lane has a line of its own, so that all lanes do the same. What is
one long line is taken for a matrix instead: its columns are transformed, multiplied by twiddles,
and then its rows. Lengths with large prime factors are transformed as a convolution, for which
there are better lengths.

References
----------
Bailey, *FFTs in External or Hierarchical Memory*, 1990; Bluestein, *A Linear Filtering Approach to
the Computation of the Discrete Fourier Transform*, 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.memory import pointer_into
from codegen.elements.types import literal
from codegen.expressions import Cast, Expr, Group, Literal, Name, at_most, indexed
from codegen.kinds import Pointer, Record
from codegen.opcodes.complex_parts import table_of_parts
from codegen.opcodes.fourier_lengths import (
    chirp,
    chirp_transform,
    good_length,
    middle_factor,
    radices,
    roots_of_unity,
)
from codegen.walk import address_of
from hlo.support import machine
from hlo.types.element_type import U64
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from codegen.elements.body import Body
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Sum

LONGEST_IN_LANES = machine.L2 // 2 // (2 * machine.WIDEST_VECTOR)
"""Complex numbers of a line of a Fourier transform, so that as many lines as lanes are cached."""
SHORT_TRANSFORM = 64
"""Measured: lines of a Fourier transform that are transformed in one go even if they do not fill
the lanes. With 1, a few lines take 1.3 to 2 times as long; in one go, a line of 128 takes 2.5 times
as long, and of 1024 10 times."""


@dataclass(frozen=True, slots=True)
class LineLayout:
    """The memory layout of groups of lines, in complex numbers.

    Attributes
    ----------
    pointer : to the parts of the first number.
    step : from a number to the next one of its line.
    line : from a line to the one in the next lane.
    group : from one group of lines to the next one.
    """

    pointer: Expr
    step: int
    line: int
    group: int

    def at(self, group: Sum, line: Sum, number: Sum | int = 0) -> Expr:
        """The index of a number of a line."""
        offset = (group * self.group + line * self.line + number) * 2
        return address_of(self.pointer, offset)


@dataclass(frozen=True, slots=True)
class Direction:
    """The direction of a transform, by the conversions around it.

    Attributes
    ----------
    inverse : real and imaginary parts are exchanged before and after it.
    scale : the transforms are multiplied by it.
    """

    inverse: bool = False
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class LineTransform:
    """The transform of lines of n numbers, each to another array or in place.

    Attributes
    ----------
    counts : of groups, and of lines in each.
    """

    n: int
    source: LineLayout
    target: LineLayout
    counts: tuple[int, int]
    direction: Direction = Direction()


def _room(n: int) -> int:
    """The count of numbers of each line for which lanes need room."""
    return n if radices(n) is not None else good_length(2 * n - 1)


class _LineBlock:
    """As many lines as there are lanes, in the cache: `x`, and room for as many in `y`."""

    def __init__(self, transforms: Transforms, n: int, count: Expr) -> None:
        self.transforms, self.body, self.kind = transforms, transforms.body, transforms.kind
        struct, stride = Record(f"lanes_{self.kind}"), 2 * machine.WIDEST_VECTOR
        self.x = self.body.own(struct, "x", _room(n), stride)
        self.y = self.body.own(struct, "y", _room(n), stride)
        self.count = count

    def take(self, n: int, offset: Expr, step: int, line: int, direction: Direction) -> None:
        """Load numbers of all lines."""
        if step == 1 and line != 1 and self.kind.bits == 32:
            # Pairs of two f32 change rows with columns as words of 64 bits.
            self._transpose(self.y, offset, n, self.count, self.transforms.width, line)
            offset = Cast(Pointer(self.kind.name, const=True), self.y)
            step, line = self.transforms.width, 1
        numbers = (n, self.count, step, line, int(direction.inverse))
        self._call("take_lines", self.x, offset, *numbers, work=4 * n)

    def give(self, n: int, offset: Expr, step: int, line: int, direction: Direction) -> None:
        """Store numbers of all lines."""
        width, scale = self.transforms.width, literal(self.kind, direction.scale)
        if step == 1 and line != 1 and self.kind.bits == 32:
            there = Cast(Pointer(self.kind.name), self.y)
            inverse = int(direction.inverse)
            self._call("give_lines", self.x, there, n, width, width, 1, inverse, scale, work=4 * n)
            self._transpose(offset, self.y, self.count, n, line, width)
            return
        numbers = (n, self.count, step, line, int(direction.inverse))
        self._call("give_lines", self.x, offset, *numbers, scale, work=4 * n)

    def _transpose(
        self, to: Expr, source: Expr, rows: Expr | int, columns: Expr | int, row: int, column: int
    ) -> None:
        """Let rows of words of 64 bits become columns."""
        ends = Cast(Pointer("u64"), Group(to)), Cast(Pointer("u64", const=True), Group(source))
        self.body.call(FUNCTIONS["hlo_transpose", U64], *ends, rows, columns, row, column)

    def transform(self, n: int) -> None:
        """Transform all lines, by steps or as a convolution."""
        steps = radices(n)
        if steps is None:
            self._convolve(n, _room(n))
        else:
            self._step(n, steps)

    def _step(self, n: int, steps: Sequence[int]) -> None:
        digits = sum(radix << 4 * digit for digit, radix in enumerate(steps))
        roots = self.transforms.constant(roots_of_unity(n), "roots")
        work = 8 * n * len(steps)
        ways = Literal(digits, hexadecimal=True)
        self._call("hlo_fourier", self.x, self.y, roots, n, ways, work=work)
        if len(steps) % 2:
            self.x, self.y = self.y, self.x

    def _convolve(self, n: int, longer: int) -> None:
        """Transform lines of n numbers by two transforms of longer ones."""
        factors = self.transforms.constant(chirp(n), "chirp")
        products = self.transforms.constant(chirp_transform(n, longer), "chirp_transform")
        rest = (longer - n) * 2 * machine.WIDEST_VECTOR
        self._call("multiply_lines", self.x, factors, n, 0, work=4 * n)
        self.body.call(BUILTINS["memset"], self.x + n, 0, rest)
        self.transform(longer)
        self._call("multiply_lines", self.x, products, longer, 1, work=4 * longer)
        self.transform(longer)
        self._call("multiply_lines", self.x, factors, n, 1, work=4 * n)

    def twiddle(self, n: int, whole: int, first: Sum) -> None:
        """Multiply numbers k of lines l by roots k l of a whole line of which they are parts."""
        roots = self.transforms.constant(roots_of_unity(whole), "roots")
        self._call("twiddle_lines", self.x, roots, n, self.count, indexed(first), work=8 * n)

    def _call(self, function: str, *arguments: Expr | int, work: int) -> None:
        width = self.transforms.width
        self.body.call(FUNCTIONS[function, self.kind], *arguments, work=work * width)


class Transforms:
    """Writes transforms of complex numbers.

    Attributes
    ----------
    kind : the type of their parts, f32 or f64.
    bytes : scratch memory that is needed.
    """

    def __init__(self, body: Body, kind: ElementType) -> None:
        self.body, self.kind = body, kind
        self.width = machine.WIDEST_VECTOR // kind.bytes
        self.bytes = 0

    def scratch(self, name: str, size: int) -> Name:
        """An array of complex numbers that all threads see."""
        memory = pointer_into(Name("scratch"), self.bytes, self.kind.name)
        self.bytes += aligned(size * 2 * self.kind.bytes)
        return self.body.variable(Pointer(self.kind.name), name, memory)

    def constant(self, numbers: NDArray[Any], name: str) -> Name:
        """The pointer to the parts of complex numbers that are known."""
        return table_of_parts(self.body, self.kind, numbers, name)

    def write(self, transform: LineTransform) -> None:
        """Transform lines, in the way that suits their length and count."""
        n = transform.n
        few = transform.counts[1] < self.width // 2 and n > SHORT_TRANSFORM
        if _room(n) <= LONGEST_IN_LANES and not few:
            self._write_blocks(transform)
        elif radices(n) is not None or middle_factor(n) >= self.width // 2:
            self._write_matrix(transform)
        else:
            self._write_convolution(transform)

    def _write_blocks(self, line: LineTransform) -> None:
        """Transform as many lines at a time as there are lanes."""
        n, source, target, direction = line.n, line.source, line.target, line.direction
        groups, lines = line.counts
        names, sizes = ["group", "block"], [groups, -(-lines // self.width)]
        with self.body.loops(names, sizes, parallel=True) as (group, number):
            first = number * self.width
            block = _LineBlock(self, n, self._count(first, lines))
            block.take(n, source.at(group, first), source.step, source.line, direction)
            block.transform(n)
            block.give(n, target.at(group, first), target.step, target.line, direction)

    def _write_matrix(self, transform: LineTransform) -> None:
        """Transform each line as a matrix: columns, then rows."""
        n, source, target, counts = (
            transform.n,
            transform.source,
            transform.target,
            transform.counts,
        )
        rows = middle_factor(n)
        columns = n // rows
        twiddled = self.scratch("turned", n * counts[0] * counts[1])
        between = LineLayout(twiddled, 1, n, n * counts[1])
        blocks = [-(-size // self.width) for size in (columns, rows)]
        names = ["group", "line", "block"]
        with self.body.loops(names, [*counts, blocks[0]], parallel=True) as (group, line, number):
            first = number * self.width
            block = _LineBlock(self, rows, self._count(first, columns))
            begin = source.at(group, line, first * source.step)
            block.take(rows, begin, columns * source.step, source.step, transform.direction)
            block.transform(rows)
            block.twiddle(rows, n, first)
            block.give(rows, between.at(group, line, first), columns, 1, Direction())
        with self.body.loops(names, [*counts, blocks[1]], parallel=True) as (group, line, number):
            first = number * self.width
            block = _LineBlock(self, columns, self._count(first, rows))
            block.take(columns, between.at(group, line, first * columns), 1, columns, Direction())
            block.transform(columns)
            begin = target.at(group, line, first * target.step)
            block.give(columns, begin, rows * target.step, target.step, transform.direction)

    def _write_convolution(self, transform: LineTransform) -> None:
        """Transform a few lines by two transforms of longer ones, in memory."""
        n, counts, direction = transform.n, transform.counts, transform.direction
        longer = good_length(2 * n - 1)
        factors = self.constant(chirp(n), "chirp")
        scaled = self.constant(chirp(n) * direction.scale, "chirp")
        products = self.constant(chirp_transform(n, longer), "chirp_transform")
        room = LineLayout(
            self.scratch("longer", longer * counts[0] * counts[1]), 1, longer, longer * counts[1]
        )
        rest = (longer - n) * 2 * self.kind.bytes

        def multiply(
            begin: LineLayout, end: LineLayout, by: Name, size: int, conjugates: tuple[bool, bool]
        ) -> None:
            with self.body.loops(["group", "line"], counts, parallel=True) as (group, line):
                lines = (begin.at(group, line), begin.step, end.at(group, line), end.step)
                numbers = (size, *map(int, conjugates))
                work = 16 * size
                self.body.call(
                    FUNCTIONS["multiply_numbers", self.kind], *lines, by, *numbers, work=work
                )
                if end is room and begin is not room:
                    self.body.call(BUILTINS["memset"], end.at(group, line, n), 0, rest)

        multiply(transform.source, room, factors, n, (direction.inverse, False))
        self.write(LineTransform(longer, room, room, counts))
        multiply(room, room, products, longer, (True, False))
        self.write(LineTransform(longer, room, room, counts))
        multiply(room, transform.target, scaled, n, (True, direction.inverse))

    def _count(self, first: Sum, lines: int) -> Expr:
        """The number of lanes with a line, from a line on."""
        if first.high + self.width <= lines:
            return Literal(self.width)
        if first.low == first.high:
            return Literal(lines - first.low)
        return at_most(Literal(lines) - Group(indexed(first)), self.width)
