"""Equality of two modules' values for the same arguments, as far as a promise goes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from hlo_tools.running import EndlessError, devices_of, leaves, rounds, run_shaken
from interpreter.numbers.compare import BITS, compare
from interpreter.numbers.widths import type_of, widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Module
    from interpreter.numbers.compare import Difference, Promise

Value = Any  # an array, None for a token, or a tuple of values

# How often each module is shaken, and how many times as far as that a value may be.
RUNS, FACTOR = 5, 4


def difference(
    before: Module,
    after: Module,
    arguments: Sequence[Value],
    promise: Promise,
    want: Value,
    got: Value,
) -> Difference | None:
    """The difference of two modules' values beyond a promise.

    Parameters
    ----------
    want, got : the values of the modules before and after.
    """
    found = compare(got, want, promise)
    if found is None or promise == BITS or found.reason or devices_of(before) > 1:
        return found
    try:
        spread = Spread.of(before, want, arguments, promise)
        spread.add(Spread.of(after, got, arguments, promise))
    except (HloError, EndlessError, FloatingPointError):
        # A module that fails once it is shaken shows nothing of the differences that may follow.
        return None
    return compare(spread.forgiven(got, want), want, promise)


class Spread:
    """The distance that each element of a value moves when its inputs are shaken."""

    def __init__(self, moved: list[Any], unsettled: list[Any]) -> None:
        self.moved, self.unsettled = moved, unsettled

    @classmethod
    def of(
        cls, module: Module, value: Value, arguments: Sequence[Value], promise: Promise
    ) -> Spread:
        """That of a module's value."""
        base = leaves(value)
        moved = [np.zeros(np.shape(leaf)) for leaf in base]
        unsettled = [np.zeros(np.shape(leaf), np.bool_) for leaf in base]
        for seed in range(RUNS):
            shaken = leaves(run_shaken(module, arguments, promise, Random(seed)))
            for n, (there, here) in enumerate(zip(shaken, base, strict=True)):
                distance, anything = apart(there, here, promise)
                moved[n] = np.maximum(moved[n], distance)
                unsettled[n] |= anything
        return cls(moved, unsettled)

    def add(self, other: Spread) -> None:
        """Allow another's differences, too."""
        self.moved = [np.maximum(a, b) for a, b in zip(self.moved, other.moved, strict=True)]
        pairs = zip(self.unsettled, other.unsettled, strict=True)
        self.unsettled = [a | b for a, b in pairs]

    def forgiven(self, got: Value, want: Value) -> Value:
        """A value, with that of another wherever it is no further away than shaking explains."""
        left = iter(zip(leaves(want), self.moved, self.unsettled, strict=True))

        def forgive(leaf: Any) -> Any:
            wanted, moved, unsettled = next(left)
            forgiven = unsettled
            if type_of(wanted).kind in ("float", "complex"):
                distance = np.abs(numbers(leaf) - numbers(wanted))
                forgiven = unsettled | (distance <= FACTOR * moved)
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
