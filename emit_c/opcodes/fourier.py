"""Fourier transforms: many lines at once, in the lanes of vectors.

Lines are taken into the lanes of an array in the cache, transformed there, and given to where
their transforms are to be; each lane has a line of its own, so that all lanes do the same. What is
one long line is taken for a matrix instead: its columns are transformed, turned by roots of unity,
and then its rows. Lengths with large prime factors are transformed as a convolution, for which
there are better lengths.

References
----------
Bailey, *FFTs in External or Hierarchical Memory*, 1990; Bluestein, *A Linear Filtering Approach to
the Computation of the Discrete Fourier Transform*, 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.code.types import literal
from emit_c.opcodes.fourier_lengths import (
    chirp,
    chirp_transform,
    good_length,
    middle_factor,
    radices,
    roots_of_unity,
)
from hlo.literal import Literal
from hlo.shape import array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from emit_c.code.indexing import Sum
    from emit_c.kernels.body import Body
    from hlo.element_type import ElementType

VECTOR_BYTES = 64
# Numbers of a line up to which the lines of all lanes stay in the cache.
MOST_IN_LANES = 4096
# Shorter lines are transformed in one go, even if there are not enough of them to fill the lanes.
SHORT = 64


@dataclass(frozen=True, slots=True)
class Lines:
    """How groups of lines lie in memory, in complex numbers.

    Attributes
    ----------
    pointer : C, to the parts of the first number.
    step : from a number to the next one of its line.
    line : from a line to the one in the next lane.
    group : from one group of lines to the next one.
    """

    pointer: str
    step: int
    line: int
    group: int

    def at(self, group: Sum, line: Sum, number: Sum | int = 0) -> str:
        """C for where a number of a line is."""
        place = (group * self.group + line * self.line + number) * 2
        return f"{self.pointer} + {place.text}"


@dataclass(frozen=True, slots=True)
class Way:
    """What is done to numbers besides the transform.

    Attributes
    ----------
    turned : real and imaginary parts change places before and behind it: that is the inverse.
    scale : the transforms are multiplied by it.
    """

    turned: bool = False
    scale: float = 1.0


class _Block:
    """As many lines as there are lanes, in the cache: `x`, and room for as many in `y`."""

    def __init__(self, transforms: Transforms, room: int, count: str) -> None:
        self.transforms, self.body, self.kind = transforms, transforms.body, transforms.kind
        struct, each = f"struct lanes_{self.kind}", 2 * VECTOR_BYTES
        self.x = self.body.own(struct, "x", room, each)
        self.y = self.body.own(struct, "y", room, each)
        self.count = count

    def take(self, n: int, place: str, step: int, line: int, way: Way) -> None:
        """Load numbers of all lines."""
        numbers = (str(n), self.count, str(step), str(line), str(int(way.turned)))
        self._call("take_lines", self.x, place, *numbers, work=4 * n)

    def give(self, n: int, place: str, step: int, line: int, way: Way) -> None:
        """Store numbers of all lines."""
        numbers = (str(n), self.count, str(step), str(line), str(int(way.turned)))
        self._call("give_lines", self.x, place, *numbers, literal(self.kind, way.scale), work=4 * n)

    def fourier(self, n: int) -> None:
        """Transform all lines."""
        steps = radices(n)
        assert steps is not None
        digits = sum(radix << 4 * place for place, radix in enumerate(steps))
        roots = self.transforms.constant(roots_of_unity(n), "roots")
        work = 8 * n * len(steps)
        self._call("hlo_fourier", self.x, self.y, roots, str(n), f"{digits:#x}", work=work)
        if len(steps) % 2:
            self.x, self.y = self.y, self.x

    def convolve(self, n: int, longer: int) -> None:
        """Transform lines of n numbers by two transforms of longer ones."""
        factors = self.transforms.constant(chirp(n), "chirp")
        products = self.transforms.constant(chirp_transform(n, longer), "chirp_transform")
        rest = str((longer - n) * 2 * VECTOR_BYTES)
        self._call("multiply_lines", self.x, factors, str(n), "0", work=4 * n)
        self.body.call("__builtin_memset", f"{self.x} + {n}", "0", rest)
        self.fourier(longer)
        self._call("multiply_lines", self.x, products, str(longer), "1", work=4 * longer)
        self.fourier(longer)
        self._call("multiply_lines", self.x, factors, str(n), "1", work=4 * n)

    def turn(self, n: int, whole: int, first: Sum) -> None:
        """Turn numbers k of lines l by roots k l of a whole line of which they are parts."""
        roots = self.transforms.constant(roots_of_unity(whole), "roots")
        self._call("turn_lines", self.x, roots, str(n), self.count, first.text, work=8 * n)

    def _call(self, function: str, *arguments: str, work: int) -> None:
        width = self.transforms.width
        self.body.call(f"{function}_{self.kind}", *arguments, work=work * width)


class Transforms:
    """Writes transforms of complex numbers.

    Attributes
    ----------
    kind : the type of their parts, f32 or f64.
    bytes : scratch memory that is needed.
    """

    def __init__(self, body: Body, kind: ElementType) -> None:
        self.body, self.kind = body, kind
        self.width = VECTOR_BYTES // kind.bytes
        self.bytes = 0

    def scratch(self, name: str, size: int) -> str:
        """An array of complex numbers that all threads see."""
        place = f"({self.kind} *)(scratch + {self.bytes})"
        self.bytes += -(-size * 2 * self.kind.bytes // VECTOR_BYTES) * VECTOR_BYTES
        return self.body.variable(f"{self.kind} *", name, place)

    def constant(self, numbers: NDArray[Any], name: str) -> str:
        """The pointer to the parts of complex numbers that are known."""
        parts = numbers.view(np.float64).astype(self.kind.dtype)
        return self.body.constant(Literal(array(self.kind, parts.shape), parts), name)

    def write(
        self, n: int, source: Lines, target: Lines, counts: tuple[int, int], way: Way
    ) -> None:
        """Transform lines of n numbers, each to another place or where it is.

        Parameters
        ----------
        counts : of groups, and of lines in each.
        """
        few = counts[1] < self.width // 2 and n > SHORT
        if radices(n) is not None:
            if n <= MOST_IN_LANES and not few:
                step = partial(_Block.fourier, n=n)
                self._write_blocks(n, n, source, target, counts, way, step)
            else:
                self._write_matrix(n, source, target, counts, way)
            return
        longer = good_length(2 * n - 1)
        if longer <= 2 * MOST_IN_LANES and not few:
            step = partial(_Block.convolve, n=n, longer=longer)
            self._write_blocks(n, longer, source, target, counts, way, step)
        else:
            self._write_convolution(n, longer, source, target, counts, way)

    def _write_blocks(
        self, n: int, room: int, source: Lines, target: Lines, counts: tuple[int, int], way: Way,
        step: Callable[[_Block], None],
    ) -> None:  # fmt: skip
        """Transform as many lines at a time as there are lanes."""
        groups, lines = counts
        names, sizes = ["group", "block"], [groups, -(-lines // self.width)]
        with self.body.loops(names, sizes, parallel=True) as (group, number):
            first = number * self.width
            block = _Block(self, room, self._count(first, lines))
            block.take(n, source.at(group, first), source.step, source.line, way)
            step(block)
            block.give(n, target.at(group, first), target.step, target.line, way)

    def _write_matrix(
        self, n: int, source: Lines, target: Lines, counts: tuple[int, int], way: Way
    ) -> None:
        """Transform each line as a matrix: columns, then rows."""
        rows = middle_factor(n)
        columns = n // rows
        turned = self.scratch("turned", n * counts[0] * counts[1])
        between = Lines(turned, 1, n, n * counts[1])
        blocks = [-(-size // self.width) for size in (columns, rows)]
        names = ["group", "line", "block"]
        with self.body.loops(names, [*counts, blocks[0]], parallel=True) as (group, line, number):
            first = number * self.width
            block = _Block(self, rows, self._count(first, columns))
            begin = source.at(group, line, first * source.step)
            block.take(rows, begin, columns * source.step, source.step, way)
            block.fourier(rows)
            block.turn(rows, n, first)
            block.give(rows, between.at(group, line, first), columns, 1, Way())
        with self.body.loops(names, [*counts, blocks[1]], parallel=True) as (group, line, number):
            first = number * self.width
            block = _Block(self, columns, self._count(first, rows))
            block.take(columns, between.at(group, line, first * columns), 1, columns, Way())
            block.fourier(columns)
            begin = target.at(group, line, first * target.step)
            block.give(columns, begin, rows * target.step, target.step, way)

    def _write_convolution(
        self, n: int, longer: int, source: Lines, target: Lines, counts: tuple[int, int], way: Way
    ) -> None:
        """Transform a few lines as `_Block.convolve` does, in memory."""
        factors = self.constant(chirp(n), "chirp")
        scaled = self.constant(chirp(n) * way.scale, "chirp")
        products = self.constant(chirp_transform(n, longer), "chirp_transform")
        room = Lines(
            self.scratch("longer", longer * counts[0] * counts[1]), 1, longer, longer * counts[1]
        )
        rest = str((longer - n) * 2 * self.kind.bytes)

        def multiply(
            begin: Lines, end: Lines, by: str, size: int, turns: tuple[bool, bool]
        ) -> None:
            with self.body.loops(["group", "line"], counts, parallel=True) as (group, line):
                places = (
                    begin.at(group, line),
                    str(begin.step),
                    end.at(group, line),
                    str(end.step),
                )
                numbers = (str(size), *(str(int(t)) for t in turns))
                work = 16 * size
                self.body.call(f"multiply_numbers_{self.kind}", *places, by, *numbers, work=work)
                if end is room and begin is not room:
                    self.body.call("__builtin_memset", end.at(group, line, n), "0", rest)

        multiply(source, room, factors, n, (way.turned, False))
        self.write(longer, room, room, counts, Way())
        multiply(room, room, products, longer, (True, False))
        self.write(longer, room, room, counts, Way())
        multiply(room, target, scaled, n, (True, way.turned))

    def _count(self, first: Sum, lines: int) -> str:
        """How many of the lanes from a line on have one."""
        if first.high + self.width <= lines:
            return str(self.width)
        if first.low == first.high:
            return str(lines - first.low)
        left = f"{lines} - ({first.text})"
        return f"{left} < {self.width} ? {left} : {self.width}"
