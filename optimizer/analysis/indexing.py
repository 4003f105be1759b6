"""Index arithmetic: sums of multiples of loop counters, with quotients and remainders.

Inside a fusion an output index is mapped back through each instruction. A transpose permutes it, a
slice scales and shifts it, a reshape linearises and divides it again; what comes out is simplified
here, by the ranges of the counters: (8 i + j) / 8 is i where j is below 8.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Counter:
    """A name in C whose value lies between two bounds, both included.

    It is the same one where more is known of its bounds.
    """

    name: str
    low: int = field(compare=False)
    high: int = field(compare=False)

    @property
    def text(self) -> str:
        """As C."""
        return self.name


@dataclass(frozen=True)
class Quotient:
    """A nonnegative sum divided by a positive number, rounded down."""

    dividend: Sum
    divisor: int

    @cached_property
    def low(self) -> int:
        """The least value."""
        return max(self.dividend.low, 0) // self.divisor

    @cached_property
    def high(self) -> int:
        """The greatest value."""
        return max(self.dividend.high, 0) // self.divisor

    @cached_property
    def text(self) -> str:
        """As C; of powers of two a shift, as compilers can't know that the sum is not negative."""
        if (bits := _bits(self.divisor)) is not None:
            return f"({_operand(self.dividend)} >> {bits})"
        return f"({_operand(self.dividend)} / {self.divisor})"


@dataclass(frozen=True)
class Remainder:
    """The remainder of a nonnegative sum, divided by a positive number."""

    dividend: Sum
    divisor: int

    @property
    def low(self) -> int:
        """The least value."""
        return 0

    @property
    def high(self) -> int:
        """The greatest value."""
        return self.divisor - 1

    @cached_property
    def text(self) -> str:
        """As C; of powers of two a mask."""
        if _bits(self.divisor) is not None:
            return f"({_operand(self.dividend)} & {self.divisor - 1})"
        return f"({_operand(self.dividend)} % {self.divisor})"


def _substituted(atom: Atom, values: Mapping[str, str | int | Sum]) -> Sum:
    if isinstance(atom, Counter):
        value = values.get(atom.name, atom.name)
        if isinstance(value, Sum):
            return value
        return Sum(value) if isinstance(value, int) else Sum(0, ((replace(atom, name=value), 1),))
    dividend = atom.dividend.substituted(values)
    is_quotient = isinstance(atom, Quotient)
    return dividend // atom.divisor if is_quotient else dividend % atom.divisor


def _operand(dividend: Sum) -> str:
    """A sum as it is in a larger expression."""
    return dividend.text if dividend.text.isidentifier() else f"({dividend.text})"


def _bits(divisor: int) -> int | None:
    """By how many bits to shift instead of dividing; None where that is something else."""
    return None if divisor & (divisor - 1) else divisor.bit_length() - 1


Atom = Counter | Quotient | Remainder


@dataclass(frozen=True)
class Sum:
    """A constant and multiples of atoms; equal sums compare equal."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = ()

    # Facts about an array are looked up by index, so that sums are hashed again and again.
    def __hash__(self) -> int:
        """Of the constant and the terms."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.constant, self.terms))

    @cached_property
    def low(self) -> int:
        """The least value that it may have."""
        return self.constant + sum(f * (a.low if f > 0 else a.high) for a, f in self.terms)

    @cached_property
    def high(self) -> int:
        """The greatest value that it may have."""
        return self.constant + sum(f * (a.high if f > 0 else a.low) for a, f in self.terms)

    def substituted(self, values: Mapping[str, str | int | Sum]) -> Sum:
        """The sum with other names of counters, whose values are the same, or with their values."""
        total = Sum(self.constant)
        for atom, factor in self.terms:
            total += _substituted(atom, values) * factor
        return total

    def __add__(self, other: Sum | int) -> Sum:
        """The sum of both."""
        if isinstance(other, int):
            return Sum(self.constant + other, self.terms)
        factors = dict(self.terms)
        for atom, factor in other.terms:
            factors[atom] = factors.get(atom, 0) + factor
        terms = tuple((a, f) for a, f in factors.items() if f)
        return _joined(Sum(self.constant + other.constant, terms))

    def __mul__(self, factor: int) -> Sum:
        """A multiple."""
        if factor == 0:
            return Sum(0)
        return Sum(self.constant * factor, tuple((a, f * factor) for a, f in self.terms))

    def __floordiv__(self, divisor: int) -> Sum:
        """The quotient, where the sum is not negative."""
        return self._divided(divisor)[0]

    def __mod__(self, divisor: int) -> Sum:
        """The remainder of a division, where the sum is not negative."""
        return self._divided(divisor)[1]

    def _divided(self, divisor: int) -> tuple[Sum, Sum]:
        """Quotient and remainder; terms that the divisor divides are part of the quotient alone."""
        if divisor == 1:
            return self, Sum(0)
        whole = Sum(
            self.constant // divisor,
            tuple((a, f // divisor) for a, f in self.terms if f % divisor == 0),
        )
        rest = Sum(self.constant % divisor, tuple((a, f) for a, f in self.terms if f % divisor))
        turns = rest.low // divisor
        if rest.high // divisor == turns:
            return whole + turns, rest + -turns * divisor
        if rest.low < 0:
            whole, rest = Sum(0), self
        quotient, remainder = rest._divided_in_steps(divisor)
        return whole + quotient, remainder

    def _divided_in_steps(self, divisor: int) -> tuple[Sum, Sum]:
        """Quotient and remainder of terms that the divisor does not divide.

        (8 i + j) / 32 is i / 4 for j below 8: the coarse part i is divided by a smaller number, and
        the fine part j belongs to the remainder.
        """
        for step in sorted({gcd(f, divisor) for _, f in self.terms}, reverse=True):
            many = tuple((a, f // step) for a, f in self.terms if f % step == 0)
            coarse = Sum(self.constant // step, many)
            fine = Sum(self.constant % step, tuple((a, f) for a, f in self.terms if f % step))
            if step > 1 and coarse.low >= 0 and fine.low >= 0 and fine.high < step:
                quotient, remainder = coarse._divided(divisor // step)
                return quotient, remainder * step + fine
        return Sum(0, ((Quotient(self, divisor), 1),)), Sum(0, ((Remainder(self, divisor), 1),))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the counters, each as often as it occurs in the text."""
        names: list[str] = []
        for atom, _ in self.terms:
            if isinstance(atom, Counter):
                names.append(atom.name)
            else:
                names += atom.dividend.names
        return tuple(names)

    @cached_property
    def factors(self) -> tuple[tuple[str, int], ...]:
        """The counters with their factors, those in dividends too."""
        factors: list[tuple[str, int]] = []
        for atom, factor in self.terms:
            if isinstance(atom, Counter):
                factors.append((atom.name, factor))
            else:
                factors += atom.dividend.factors
        return tuple(factors)

    @cached_property
    def text(self) -> str:
        """As C."""
        parts = [_product(a, f) for a, f in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def _product(atom: Atom, factor: int) -> str:
    text = atom.text
    return text if factor == 1 else f"{text} * {factor}" if factor > 0 else f"-{text} * {-factor}"


def _joined(total: Sum) -> Sum:
    """Put quotients and remainders of the same division together.

    c (x / c) + x % c is x, and b (x / b % c) + x % b is x % (b c).
    """
    for atom, factor in total.terms:
        if not isinstance(atom, Remainder):
            continue
        for twin in _quotients(atom):
            factors = dict(total.terms)
            if factors.get(twin) == factor * atom.divisor:
                del factors[twin], factors[atom]
                return Sum(total.constant, tuple(factors.items())) + atom.dividend * factor
        finer = _finer(atom)
        if finer and dict(total.terms).get(finer, 0) * finer.divisor == factor:
            terms = tuple((a, f) for a, f in total.terms if a not in (atom, finer))
            joined = finer.dividend % (atom.divisor * finer.divisor)
            return Sum(total.constant, terms) + joined * (factor // finer.divisor)
    return total


def _finer(remainder: Remainder) -> Remainder | None:
    """The remainder x % b that belongs to x / b % c; None for any other remainder."""
    match remainder.dividend:
        case Sum(0, ((Quotient(dividend, divisor), 1),)):
            return Remainder(dividend, divisor)
        case _:
            return None


def _quotients(remainder: Remainder) -> Iterator[Quotient]:
    """The quotient of a remainder's division, as it may be written: (x / b) / c is x / (b c)."""
    dividend, divisor = remainder.dividend, remainder.divisor
    yield Quotient(dividend, divisor)
    if dividend.constant == 0 and len(dividend.terms) == 1:
        inner, factor = dividend.terms[0]
        if isinstance(inner, Quotient) and factor == 1:
            yield Quotient(inner.dividend, inner.divisor * divisor)


Index = tuple[Sum, ...]


def counter(name: str, size: int) -> Sum:
    """A loop's counter: 0 to size - 1. Of a loop that runs once, 0."""
    return Sum(0, ((Counter(name, 0, size - 1), 1),)) if size != 1 else Sum(0)


def unknown(name: str, low: int, high: int) -> Sum:
    """A value that is computed at run time, between two bounds."""
    return Sum(0, ((Counter(name, low, high), 1),)) if low != high else Sum(low)


def strides(dims: Sequence[int]) -> tuple[int, ...]:
    """The strides of a row-major array, in elements."""
    steps: list[int] = []
    step = 1
    for size in reversed(dims):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def linear(index: Index, dims: Sequence[int]) -> Sum:
    """The row-major number of an element; the number itself where the index is one already."""
    if len(index) == 1 and len(dims) != 1:
        return index[0]
    total = Sum(0)
    for part, stride in zip(index, strides(dims), strict=True):
        total = total + part * stride
    return total


def delinear(number: Sum, dims: Sequence[int]) -> Index:
    """The index of an element from its row-major number."""
    if 0 in dims:
        return (Sum(0),) * len(dims)  # there is no element
    parts: list[Sum] = []
    for i, stride in enumerate(strides(dims)):
        part = number // stride if stride > 1 else number
        parts.append(part % dims[i] if i else part)
    return tuple(part if size != 1 else Sum(0) for part, size in zip(parts, dims, strict=True))


@dataclass(frozen=True, slots=True)
class Within:
    """The condition that a sum lies in a half-open range, and is divisible."""

    value: Sum
    low: int
    high: int
    divisor: int = 1

    @property
    def is_impossible(self) -> bool:
        """Whether it never holds."""
        return self.value.high < self.low or self.value.low >= self.high

    @property
    def is_open(self) -> bool:
        """Whether it is not certain that it holds."""
        return self.asks_low or self.asks_high or self.asks_divisor

    @property
    def asks_low(self) -> bool:
        """Whether the sum may lie below the range."""
        return self.value.low < self.low

    @property
    def asks_high(self) -> bool:
        """Whether the sum may lie above the range."""
        return self.value.high >= self.high

    @property
    def asks_divisor(self) -> bool:
        """Whether the sum may not be divisible."""
        return self.divisor > 1 and (self.value % self.divisor) != Sum(0)


def bounded(index: Index, known: Iterable[Within]) -> Index:
    """The same index with the counters' ranges where some conditions hold.

    So a remainder of 257 is no division where fewer than that are allowed.
    """
    bounds: dict[str, Counter] = {}
    for condition in known:
        closed = condition.is_impossible or not condition.is_open
        if closed or len(condition.value.terms) != 1:
            continue
        ((atom, factor),), constant = condition.value.terms, condition.value.constant
        if isinstance(atom, Counter):
            # Of factor * counter + constant the least value and the greatest, in either order.
            ends = condition.low - constant, condition.high - 1 - constant
            low, high = ends if factor > 0 else ends[::-1]
            before = bounds.get(atom.name, atom)
            low, high = max(before.low, -(-low // factor)), min(before.high, high // factor)
            if low <= high:
                bounds[atom.name] = Counter(atom.name, low, high)
    return tuple(_bounded(part, bounds) for part in index) if bounds else index


def _bounded(part: Sum, bounds: Mapping[str, Counter]) -> Sum:
    total = Sum(part.constant)
    for atom, factor in part.terms:
        if isinstance(atom, Counter):
            here = bounds.get(atom.name, atom)
            result = unknown(here.name, here.low, here.high)
        else:
            inside = _bounded(atom.dividend, bounds)
            divided = isinstance(atom, Quotient)
            result = inside // atom.divisor if divided else inside % atom.divisor
        total = total + result * factor
    return total
