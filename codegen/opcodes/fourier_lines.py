"""The steps of a Fourier transform that a block's threads do with a line in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Expr, Group, Name, binary, indexed, item
from optimizer.analysis.indexing import Sum, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.opcodes.complex_parts import ComplexParts, Pair

# Words of shared memory after which some are left out: of all gaps up to five words, and steps of
# two and four, these let threads ask for different banks most often.
ROW, GAP = 32, 3


class LineSteps:
    """Writes the steps of a line.

    Parameters
    ----------
    at : the number of the thread in its line, and where the line begins in shared memory.
    parts : real and imaginary parts, in shared memory and in registers.
    """

    def __init__(
        self,
        numbers: ComplexParts,
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
        repeats = -(-groups // self.threads)
        with body.loops(["e"], [repeats], unroll=True) as (e,):
            j = self.thread
            if repeats > 1:
                j = body.let("s64", "j", j + indexed(e) * self.threads)
            with body.when(binary("<", j, groups) if groups % self.threads else None):
                write(j, e * r)

    def gather(self, r: int, done: int, read: Callable[[Sum], Pair]) -> None:
        """Take numbers into registers, and transform groups of r of them."""

        def write(j: Name, first: Sum) -> None:
            groups = self.n // r
            values: list[Pair] = []
            for m in range(r):
                k = self.body.counted("k", indexed(counter(j.name, groups) + m * groups), self.n)
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
                k = self.body.counted("k", begin + m * done if m else begin, self.n)
                re, im = (item(held, first + m) for held in self.held)
                write(k, (re, im))

        self._each(r, put)

    def _element_number(self, k: Sum) -> Expr:
        number = indexed(k)
        return self.begin + number + Group(number / ROW) * GAP

    def load(self, k: Sum) -> Pair:
        """A number of the line in shared memory."""
        real, imaginary = (item(array, self._element_number(k)) for array in self.arrays)
        return real, imaginary

    def store(self, k: Sum, value: Pair) -> None:
        """Put a number of the line into shared memory."""
        at = self.body.let("s64", "at", self._element_number(k))
        for array, part in zip(self.arrays, value, strict=True):
            self.body.assign(item(array, at), part)
