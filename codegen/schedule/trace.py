"""A record of the primitives that a schedule applies, for those who step through it.

Nobody listens while a module is compiled; then a primitive costs one look at a variable more.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from codegen.schedule.legality import IllegalError
from codegen.schedule.obligations import OBLIGATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from codegen.schedule.obligations import Obligation
    from codegen.statements import For, Statement


@dataclass(frozen=True, slots=True)
class AppliedPrimitive:
    """A primitive that was applied to a loop.

    Attributes
    ----------
    primitive : its name, with the arguments that a reader needs.
    reason : why no value changes.
    before : the loop.
    after : the statements in its place, or the part of them that the primitive makes.
    obligations : what it takes for granted, which can be proved.
    """

    primitive: str
    reason: str
    before: For
    after: tuple[Statement, ...]
    obligations: tuple[Obligation, ...] = ()


_T = TypeVar("_T")
_heard: ContextVar[list[AppliedPrimitive] | None] = ContextVar("heard", default=None)


@contextmanager
def listening() -> Generator[list[AppliedPrimitive]]:
    """The list to which each primitive appends its application while the block runs."""
    heard: list[AppliedPrimitive] = []
    tokens = _heard.set(heard), OBLIGATIONS.set([])
    try:
        yield heard
    finally:
        _heard.reset(tokens[0])
        OBLIGATIONS.reset(tokens[1])


def applied(primitive: str, reason: str, before: For, after: Sequence[Statement]) -> None:
    """Tell the listener, if there is one, that a primitive was applied.

    Parameters
    ----------
    primitive : its name, with its numbers: "divide by 16".
    reason : why it changes no value.
    before, after : the loop, and the statements in its place.
    """
    heard, obligations = _heard.get(), OBLIGATIONS.get()
    if heard is not None and obligations is not None:
        heard.append(AppliedPrimitive(primitive, reason, before, tuple(after), tuple(obligations)))
        obligations.clear()


def attempt(schedule: Callable[[], _T]) -> _T | None:
    """The result of a schedule; None where it is not legal, and then nobody hears of it."""
    heard, obligations = _heard.get(), OBLIGATIONS.get()
    count = len(heard or ())
    try:
        return schedule()
    except IllegalError:
        if heard is not None and obligations is not None:
            del heard[count:]
            obligations.clear()
        return None
