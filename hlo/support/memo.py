"""Memoized facts of a computation, which never changes."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from hlo.walk import called_besides

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation

Known = TypeVar("Known")


def remembered(function: Callable[[Computation], Known]) -> Callable[[Computation], Known]:
    """Let a function of computations keep its results as long as the computation lives.

    What it finds must not hold the computation itself, and nobody may change it. It is for what
    pass after pass asks, and what is small: most computations live as long as the optimizer runs.
    """
    known: WeakKeyDictionary[Computation, Known] = WeakKeyDictionary()

    @wraps(function)
    def ask(computation: Computation) -> Known:
        try:
            return known[computation]
        except KeyError:
            result = known[computation] = function(computation)
            return result

    return ask


def callees_first(function: Callable[[Computation], Known]) -> Callable[[Computation], Known]:
    """Remember the results of a function that asks itself for the computations that one calls.

    It is asked for them first, so it does not call itself, however deeply they are nested.
    """
    known: WeakKeyDictionary[Computation, Known] = WeakKeyDictionary()

    @wraps(function)
    def ask(computation: Computation) -> Known:
        for beside in called_besides(known, computation):
            known[beside] = function(beside)
        return known[computation]

    return ask


@callees_first
def call_depth(computation: Computation) -> int:
    """The number of computations that run at a time, one inside the other."""
    return 1 + max(map(call_depth, computation.callees), default=0)
