"""Arithmetic of complex numbers whose real and imaginary parts are apart, and transforms of a few.

A Fourier transform of a line is made of such small transforms, and of products by roots of unity.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.elements.types import literal
from codegen.expressions import Expr, Group, Name, binary, item, total_of
from codegen.opcodes.fourier_lengths import roots_of_unity
from hlo.types.literal import Literal as Constant
from hlo.types.shape import array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from codegen.elements.body import Body
    from hlo.types.element_type import ElementType

Pair = tuple[Expr, Expr]


def table_of_parts(body: Body, kind: ElementType, numbers: NDArray[Any], name: str) -> Name:
    """The pointer to the parts, of a type, of complex numbers that are known."""
    parts = numbers.view(np.float64).astype(kind.dtype)
    return body.constant(Constant(array(kind, parts.shape), parts), name)


class ComplexParts:
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
        """Transform an odd number r of elements: roots m and r - m have opposite sines."""
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
        """The pointer to the parts of complex numbers that are known."""
        return table_of_parts(self.body, self.kind, numbers, name)
