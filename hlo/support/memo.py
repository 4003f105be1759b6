"""Memoized facts of a computation, which never changes."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

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
            found = known[computation] = function(computation)
            return found

    return ask
