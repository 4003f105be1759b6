"""Dependences: which iterations of a loop access the same element of an array.

The index of an access is written as `factor * t + fixed + rest`, where `t` counts iterations from
0, `fixed` is the same in all of them, and `rest` is made of the counters of inner loops, whose
bounds are known. Where two accesses have the same `fixed` but for a constant, they meet where a
linear form of both iterations lies between two numbers (Banerjee's bounds); a common divisor of
the factors may exclude that (the GCD test). Where counters are digits of an index, as `i` and `j`
are in `16 * i + j` for j < 16, equal indices have equal digits; and so have sums of counters that a
guard bounds. Of all others it is not known.

References
----------
Allen and Kennedy, *Optimizing Compilers for Modern Architectures*, 2001, chapter 3.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, gcd
from typing import TYPE_CHECKING, NamedTuple

from codegen.expressions import Op
from codegen.schedule.linear import Linear
from codegen.schedule.obligations import AccessDistance, granted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.expressions import Expr
    from codegen.schedule.accesses import MemoryAccess
    from codegen.schedule.loop import LoopView

# Iterations of a loop whose bounds are not known.
_MANY = 1 << 62


def distances(loop: LoopView, one: MemoryAccess, other: MemoryAccess) -> range | None:
    """By how many iterations another access may come after one to the same element.

        for i < 9: y[i + 2] = ...; ... = y[i]       2: the load comes two iterations after the store

    Parameters
    ----------
    loop : the loop around both.
    one, other : in an iteration of the loop.

    Returns
    -------
    range
        from the least distance to the greatest, which are negative where the other access comes
        in an earlier iteration. None where the two never meet.
    """
    if one.name != other.name:
        return None
    if one.name in loop.declared:
        return range(1)
    most = (_MANY if loop.trips is None else loop.trips) - 1
    unknown = range(-most, most + 1)
    if one.index is None or other.index is None:
        return unknown
    here, there = _AffineIndex(loop, one, one.index), _AffineIndex(loop, other, other.index)
    if not here.is_known or not there.is_known or here.fixed.terms != there.fixed.terms:
        return unknown
    # They meet in iterations t and t' where there.factor * t' - here.factor * t = low..high.
    shift = here.fixed.constant - there.fixed.constant
    low, high = shift + here.low - there.high, shift + here.high - there.low
    step = gcd(here.factor, there.factor)
    if step and -(-low // step) * step > high:
        return _answered(loop, one, other, None)
    ends = [
        second - first for first, second in _corners(-here.factor, there.factor, low, high, most)
    ]
    trips = range(ceil(min(ends, default=1)), floor(max(ends, default=0)) + 1)
    if here.factor == there.factor:
        trips = _by_digits(here, there, shift, trips)
    return _answered(loop, one, other, trips or None)


def _answered(
    loop: LoopView, one: MemoryAccess, other: MemoryAccess, trips: range | None
) -> range | None:
    granted(AccessDistance(loop, one, other, trips))
    return trips


def _corners(
    x_factor: int, y_factor: int, low: int, high: int, most: int
) -> Iterator[tuple[Fraction, Fraction]]:
    """The corners of the part of a square where low <= x_factor * x + y_factor * y <= high.

    Those of the points between 0 and `most`; all lie on the square's edges.
    """
    for edge in map(Fraction, (0, most)):
        for y in _between(y_factor, low - x_factor * edge, high - x_factor * edge, most):
            yield edge, y
        for x in _between(x_factor, low - y_factor * edge, high - y_factor * edge, most):
            yield x, edge


class _Digit(NamedTuple):
    """The difference of a counter, or of a sum of counters, in two iterations.

    Attributes
    ----------
    factor : by which it is in the difference of two indices.
    limit : its greatest absolute value.
    name : of the counter.
    parts : those of a sum.
    """

    factor: int
    limit: int
    name: str = ""
    parts: tuple[_Digit, ...] = ()


def _by_digits(here: _AffineIndex, there: _AffineIndex, shift: int, trips: range) -> range:
    """Those of some distances at which two indices, which differ by a shift, have equal digits.

    y[16 * j + i] in iterations i and i', j < 16: 16 divides i' - i, and so they are the same
    """
    most = max(abs(trips.start), abs(trips.stop - 1), 0)
    # The sum of differences of counters, each times its factor, is to be 0 with the rest.
    digits, rest = [_Digit(-here.factor, most, here.name)], shift
    for name in {**here.inner, **there.inner}:
        one, other = here.inner.get(name), there.inner.get(name)
        if one == other and one:
            digits.append(_Digit(one.step, len(one) - 1, name))
            continue
        for sign, numbers in ((1, one), (-1, other)):
            if numbers:
                digits.append(_Digit(numbers.step, len(numbers) - 1))
                rest += sign * numbers[0]
    digits = [digit for digit in digits if digit.factor]
    for known in (digits, _guarded(here, there, digits)):
        decided = _decided(here.name, known, rest)
        if decided is not None:
            return decided
    return trips


def _decided(name: str, digits: Sequence[_Digit], rest: int) -> range | None:
    """The only difference of a counter where all digits are 0 with a rest; None if others are.

    Empty where the digits never are.
    """
    digits = sorted(digits, key=lambda digit: -abs(digit.factor))
    for n, (factor, limit, own, parts) in enumerate(digits):
        left = sum(abs(digit.factor) * digit.limit for digit in digits[n + 1 :])
        low, high = sorted((-(rest + left) / Fraction(factor), (left - rest) / Fraction(factor)))
        numbers = range(max(ceil(low), -limit), min(floor(high), limit) + 1)
        if not numbers:
            return range(0)
        if len(numbers) > 1:
            return None
        rest += factor * numbers[0]
        if own == name:
            return range(numbers[0], numbers[0] + 1)
        decided = _decided(name, parts, -numbers[0])
        if decided is not None:
            return decided
    return None


def _guarded(here: _AffineIndex, there: _AffineIndex, digits: Sequence[_Digit]) -> Sequence[_Digit]:
    """Digits of which some are one, where a guard of both accesses bounds their sum.

    y[90 * j + 32 * i + k] with 32 * i + k < 90: the sum has 90 values at most
    """
    for guard in (guard for guard in here.guards if guard in there.guards):
        summed = {digit.name: digit for digit in digits if digit.name in guard.factors}
        parts = [d._replace(factor=guard.factors[name]) for name, d in summed.items()]
        times = {Fraction(d.factor, guard.factors[name]) for name, d in summed.items()}
        if summed.keys() != guard.factors.keys() or len(times) > 1:
            continue
        (factor,) = times
        if factor.denominator == 1:
            whole = _Digit(int(factor), guard.most, parts=tuple(parts))
            digits = [*(d for d in digits if d.name not in guard.factors), whole]
    return digits


def _between(factor: int, low: Fraction, high: Fraction, most: int) -> tuple[Fraction, ...]:
    """The least number and the greatest, from 0 to `most`, of which a multiple is in a range."""
    if factor == 0:
        return (Fraction(0), Fraction(most)) if low <= 0 <= high else ()
    ends = sorted((low / factor, high / factor))
    least, greatest = max(ends[0], Fraction(0)), min(ends[1], Fraction(most))
    return (least, greatest) if least <= greatest else ()


class _BoundedSum(NamedTuple):
    """A sum of counters, and by how much it differs at most in two iterations.

    Attributes
    ----------
    factors : of the differences of the counters, as in `_Digit`.
    """

    factors: Mapping[str, int]
    most: int


class _AffineIndex:
    """An index as `factor * t + fixed + rest`.

    Attributes
    ----------
    is_known : whether it can be written so.
    low, high : the least value and the greatest of the rest.
    inner : for each counter in the rest, the numbers that it adds.
    guards : the sums of counters that comparisons bound.
    """

    def __init__(self, loop: LoopView, access: MemoryAccess, index: Expr) -> None:
        form, bounds = loop.form(index), loop.bounds
        start, step = (bounds.start, bounds.step) if bounds else (0, 1)
        counter = form.factor(loop.name)
        self.name, self.factor, self.low, self.high = loop.name, counter * step, 0, 0
        self.inner: dict[str, range] = {}
        self.is_known = bounds is not None or loop.statement.step == 1
        terms = {atom: factor for atom, factor in form.terms.items() if atom != loop.name}
        for name, numbers in access.inner.items():
            factor = terms.pop(name, 0)
            if factor and not numbers:
                self.is_known = False
            elif factor and numbers:
                ends = factor * numbers[0], factor * numbers[-1]
                self.low, self.high = self.low + min(ends), self.high + max(ends)
                added = range(
                    factor * numbers[0], ends[1] + (1 if factor > 0 else -1), factor * numbers.step
                )
                self.inner[name] = added
        self.fixed = Linear(form.constant + counter * start, terms)
        if self.fixed.depends_on(loop.varying):
            self.is_known = False
        guards = (_guard(loop, access, guard) for guard in access.guards)
        self.guards = [guard for guard in guards if guard]


def _guard(loop: LoopView, access: MemoryAccess, comparison: Expr) -> _BoundedSum | None:
    """A sum of counters, all with known bounds, that is less than a number; None if it is none."""
    match comparison:
        case Op("<", (less, more)):
            form = loop.form(less).plus(loop.form(more), -1)
        case _:
            return None
    bounds = {**access.inner, loop.name: loop.bounds}
    factors, least = dict[str, int](), form.constant
    for name, factor in form.terms.items():
        numbers = bounds.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or not numbers:
            return None
        least += min(factor * numbers[0], factor * numbers[-1])
        factors[name] = factor * numbers.step * (-1 if name == loop.name else 1)
    return _BoundedSum(factors, max(-1 - least, 0))
