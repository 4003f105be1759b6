"""The steps of a Fourier transform that a block's threads do with a line in shared memory."""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.elements.types import literal
from codegen.expressions import Expr, Group, Name, binary, indexed, item, total_of
from codegen.opcodes.fourier_lengths import roots_of_unity
from hlo.types.literal import Literal as Constant
from hlo.types.shape import array
from optimizer.analysis.indexing import Sum, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from codegen.elements.body import Body
    from hlo.types.element_type import ElementType

# Words of shared memory after which some are left out: of all gaps up to five words, and steps of
# two and four, these let threads ask for different banks most often.
ROW, GAP = 32, 3

Pair = tuple[Expr, Expr]


def named(body: Body, number: Sum, size: int) -> Sum:
    """A number below a size, as a variable."""
    return counter(body.let("s64", "k", indexed(number)).name, size)


class Numbers:
    """Writes operations on complex numbers, whose parts are apart.

    Parameters
    ----------
    kind : of the parts.
    """

    def __init__(self, body: Body, kind: ElementType) -> None:
        self.body, self.kind = body, kind

    def let(self, re: Expr, im: Expr) -> Pair:
        """A number with names."""
        return self.body.let(self.kind.name, "re", re), self.body.let(self.kind.name, "im", im)

    def transformed(self, x: list[Pair]) -> list[Pair]:
        """The transform of a few numbers."""
        r = len(x)
        if r == 1:
            return x
        if r == 2:
            return [self._sum(x[0], x[1]), self._sum(x[0], x[1], "-")]
        if r == 4:
            even = self._sum(x[0], x[2]), self._sum(x[0], x[2], "-")
            odd, difference = self._sum(x[1], x[3]), self._sum(x[1], x[3], "-")
            # Times -i: the parts are exchanged.
            return [
                self._sum(even[0], odd),
                self.let(even[1][0] + difference[1], even[1][1] - difference[0]),
                self._sum(even[0], odd, "-"),
                self.let(even[1][0] - difference[1], even[1][1] + difference[0]),
            ]
        return self._transformed_odd(x)

    def _sum(self, x: Pair, y: Pair, sign: str = "+") -> Pair:
        return self.let(binary(sign, x[0], y[0]), binary(sign, x[1], y[1]))

    def _transformed_odd(self, x: list[Pair]) -> list[Pair]:
        """Of an odd count: roots m and r - m have equal cosines and opposite sines."""
        r, middle = len(x), len(x) // 2 + 1
        sums = [self._sum(x[m], x[r - m]) for m in range(1, middle)]
        offs = [self._sum(x[m], x[r - m], "-") for m in range(1, middle)]

        def total(numbers: Callable[[int], list[Expr]]) -> Pair:
            return self.let(*(total_of(numbers(part), "+") for part in range(2)))

        results = [total(lambda p: [x[0][p], *(s[p] for s in sums)])]
        later: list[Pair] = []
        for q in range(1, middle):
            angles = [2 * pi * q * m / r for m in range(1, middle)]
            cosines, sines = ([self._number(f(angle)) for angle in angles] for f in (cos, sin))
            straight = total(
                lambda p, by=cosines: [x[0][p], *(s[p] * c for s, c in zip(sums, by, strict=True))]
            )
            across = total(lambda p, by=sines: [o[p] * s for o, s in zip(offs, by, strict=True)])
            results.append(self.let(straight[0] + across[1], straight[1] - across[0]))
            later.append(self.let(straight[0] - across[1], straight[1] + across[0]))
        return [*results, *reversed(later)]

    def _number(self, value: float) -> Expr:
        return literal(self.kind, self.kind.dtype.type(value))

    def times(self, value: Pair, number: Expr, table: Name) -> Pair:
        """A number times one of a table."""
        (real, imaginary), kind = (Group(part) for part in value), self.kind.name
        x = self.body.let(kind, "x", item(table, Group(number) * 2))
        y = self.body.let(kind, "y", item(table, Group(number) * 2 + 1))
        return self.let(real * x - imaginary * y, real * y + imaginary * x)

    def roots(self, n: int) -> Name:
        """The table of roots of unity."""
        return self.table(roots_of_unity(n), "roots")

    def table(self, numbers: NDArray[Any], name: str) -> Name:
        """Numbers that are known, as their parts."""
        parts = numbers.view(np.float64).astype(self.kind.dtype)
        return self.body.constant(Constant(array(self.kind, parts.shape), parts), name)


class LineSteps:
    """Writes the steps of a line.

    Parameters
    ----------
    at : the number of the thread in its line, and where the line begins in shared memory.
    parts : real and imaginary parts, in shared memory and in registers.
    """

    def __init__(
        self,
        numbers: Numbers,
        n: int,
        threads: int,
        at: tuple[Name, Expr],
        parts: tuple[Sequence[Name], Sequence[Name]],
    ) -> None:
        self.numbers, self.body, self.n, self.threads = numbers, numbers.body, n, threads
        self.thread, self.begin = at
        self.arrays, self.held = parts

    def _each(self, r: int, write: Callable[[Name, Sum], None]) -> None:
        """Statements for each group of r numbers that a thread has."""
        body, groups = self.body, self.n // r
        each = -(-groups // self.threads)
        with body.loops(["e"], [each], unroll=True) as (e,):
            j = self.thread
            if each > 1:
                j = body.let("s64", "j", j + indexed(e) * self.threads)
            with body.when(binary("<", j, groups) if groups % self.threads else None):
                write(j, e * r)

    def gather(self, r: int, done: int, read: Callable[[Sum], Pair]) -> None:
        """Take numbers into registers, and transform groups of r of them."""

        def write(j: Name, first: Sum) -> None:
            groups = self.n // r
            values: list[Pair] = []
            for m in range(r):
                k = named(self.body, counter(j.name, groups) + m * groups, self.n)
                values.append(self.numbers.let(*read(k)))
            if done > 1:
                for m in range(1, r):
                    power = Group(j % done) * (m * (self.n // (done * r)))
                    by = self.body.let("s64", "twiddle", power)
                    values[m] = self.numbers.times(values[m], by, self.numbers.roots(self.n))
            for m, value in enumerate(self.numbers.transformed(values)):
                for held, part in zip(self.held, value, strict=True):
                    self.body.assign(item(held, first + m), part)

        self._each(r, write)

    def scatter(self, r: int, done: int, write: Callable[[Sum, Pair], None]) -> None:
        """Store registers where the next step, or the result, has them."""

        def put(j: Name, first: Sum) -> None:
            begin: Expr = j * r if done == 1 else Group(j / done) * (done * r) + j % done
            for m in range(r):
                k = self.body.let("s64", "k", begin + m * done if m else begin)
                re, im = (item(held, first + m) for held in self.held)
                write(counter(k.name, self.n), (re, im))

        self._each(r, put)

    def _element_number(self, k: Sum) -> Expr:
        number = indexed(k)
        return self.begin + number + Group(number / ROW) * GAP

    def load(self, k: Sum) -> Pair:
        """A number of the line in shared memory."""
        real, imaginary = (item(each, self._element_number(k)) for each in self.arrays)
        return real, imaginary

    def store(self, k: Sum, value: Pair) -> None:
        """Put a number of the line into shared memory."""
        at = self.body.let("s64", "at", self._element_number(k))
        for each, part in zip(self.arrays, value, strict=True):
            self.body.assign(item(each, at), part)
