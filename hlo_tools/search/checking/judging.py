"""Equality of two modules' values for the same arguments, as far as a promise goes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from hlo_tools.search.checking.shaking import run_shaken
from hlo_tools.values.bounded import EndlessError, devices_of, leaves, rounds
from interpreter.numbers.compare import BITS, compare
from interpreter.numbers.widths import float_format, type_of, widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Module
    from interpreter.numbers.compare import Difference, Promise

Value = Any  # an array, None for a token, or a tuple of values

# How often both modules are shaken at most, until the difference is explained: a sign that is any
# sign is the same in as many runs once in a million elements. A value may be so many times as far.
RUNS, FACTOR = 20, 4
# After so many runs, an element that changes entirely in half of them has no digit left.
ENOUGH = 6


def difference(
    before: Module,
    after: Module | None,
    arguments: Sequence[Value],
    promise: Promise,
    want: Value,
    got: Value,
) -> Difference | None:
    """The difference of two modules' values beyond a promise.

    Parameters
    ----------
    after : None where it is the same module, computed by other means.
    want, got : the values of the modules before and after.
    """
    change = compare(got, want, promise)
    if change is None or promise == BITS or change.reason or devices_of(before) > 1:
        return change
    spread, own = Spread(want), Spread(want)
    for seed in range(RUNS):
        try:
            spread.add(run_shaken(before, arguments, promise, Random(seed)), want, promise)
            if after is not None:
                own.add(run_shaken(after, arguments, promise, Random(seed)), got, promise)
                own.limit(want)
        except (HloError, EndlessError, FloatingPointError):
            # A module that fails once it is shaken shows nothing of what may follow.
            return None
        change = compare(own.forgiven(spread.forgiven(got, want), want), want, promise)
        if change is None:
            return None
    return change


class Spread:
    """The distance that each element of a value moves when the module is shaken.

    Attributes
    ----------
    moved : of each array, the distances.
    unsettled : of each array, a mask of the elements that may become anything.
    lost : of each array, in how many runs each element changed entirely: a chaotic one, such as a
        tangent of a tangent, has no largest distance that a few runs could show.
    runs : how many there were.
    """

    runs: int = 0

    def __init__(self, value: Value) -> None:
        self.moved: list[Any] = [np.zeros(np.shape(leaf)) for leaf in leaves(value)]
        self.unsettled: list[Any] = [np.zeros(np.shape(leaf), np.bool_) for leaf in leaves(value)]
        self.lost: list[Any] = [np.zeros(np.shape(leaf), np.int32) for leaf in leaves(value)]

    def add(self, shaken: Value, value: Value, promise: Promise) -> None:
        """Take in the value of one shaken run, beside the value of a run that was not."""
        for n, (there, here) in enumerate(zip(leaves(shaken), leaves(value), strict=True)):
            distance, anything = apart(there, here, promise)
            self.moved[n] = np.maximum(self.moved[n], distance)
            self.unsettled[n] |= anything
            self.lost[n] += changes_entirely(distance, here)
        self.runs += 1

    def limit(self, value: Value) -> None:
        """Let no element move by more than half of a value's digits."""
        for n, leaf in enumerate(leaves(value)):
            if type_of(leaf).kind in ("float", "complex"):
                digits = float_format(type_of(leaf).real.dtype).mantissa_bits / 2
                self.moved[n] = np.minimum(self.moved[n], np.abs(numbers(leaf)) * 2.0**-digits)

    def forgiven(self, got: Value, want: Value) -> Value:
        """A value, with that of another wherever it is no further away than shaking explains."""
        left = iter(zip(leaves(want), self.moved, self.unsettled, self.lost, strict=True))

        def forgive(leaf: Any) -> Any:
            wanted, moved, unsettled, lost = next(left)
            forgiven = unsettled
            if self.runs >= ENOUGH:
                forgiven = forgiven | (2 * lost >= self.runs)
            if type_of(wanted).kind in ("float", "complex"):
                distance = np.abs(numbers(leaf) - numbers(wanted))
                forgiven = forgiven | (distance <= FACTOR * moved)
            return cast("Any", np.where(forgiven, wanted, leaf)).astype(wanted.dtype)

        with np.errstate(all="ignore"):
            return mapped(got, forgive)


def apart(there: Any, here: Any, promise: Promise) -> tuple[Any, Any]:
    """The distances of the elements of two arrays, and a mask of those without one."""
    if type_of(here).kind not in ("float", "complex"):
        return np.zeros(np.shape(here)), np.asarray(there != here)
    with np.errstate(all="ignore"):
        x, y = numbers(there), numbers(here)
        unsure = ~(np.isfinite(x) & np.isfinite(y)) & ~same(x, y)
        if promise.finite:
            unsure |= ~(np.isfinite(x) & np.isfinite(y))
        if not rounds(promise):
            # Nothing rounds, so a value that moves at all is decided by a sign or a NaN.
            unsure |= ~same(x, y)
        distance = np.where(np.isfinite(x) & np.isfinite(y), np.abs(x - y), 0.0)
        return distance, np.asarray(unsure)


def changes_entirely(distance: Any, here: Any) -> Any:
    """A mask of the elements that moved by their own size, and by no rounding error of a sum.

    A difference of equal numbers moves by more than its own size, which is 0; but by little.
    """
    if type_of(here).kind not in ("float", "complex"):
        return np.zeros(np.shape(here), np.bool_)
    size = np.abs(numbers(here))
    largest = np.max(size, initial=1.0, where=np.isfinite(size))
    digits = float_format(type_of(here).real.dtype).mantissa_bits / 2
    return distance > np.maximum(size / 2, largest * 2.0**-digits)


def same(x: Any, y: Any) -> Any:
    """A mask of the elements that are equal, NaN and NaN among them."""
    return (x == y) | ((x != x) & (y != y))


def numbers(array: Any) -> Any:
    """An array in a type that NumPy computes with."""
    return widened(array)


def mapped(value: Value, change: Any) -> Value:
    """A value whose arrays are changed."""
    if isinstance(value, tuple):
        return tuple(mapped(element, change) for element in cast("tuple[Value, ...]", value))
    return None if value is None else change(np.asarray(value))
