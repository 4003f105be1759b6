"""A record of the primitives that a schedule applies, for those who step through it.

Nobody listens while a module is compiled; then a primitive costs one look at a variable more.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from codegen.schedule.legality import IllegalError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

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
    """

    primitive: str
    reason: str
    before: For
    after: tuple[Statement, ...]


_T = TypeVar("_T")
_heard: ContextVar[list[AppliedPrimitive] | None] = ContextVar("heard", default=None)


@contextmanager
def listening() -> Generator[list[AppliedPrimitive]]:
    """The list to which each primitive appends its application while the block runs."""
    heard: list[AppliedPrimitive] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def applied(primitive: str, reason: str, before: For, after: Sequence[Statement]) -> None:
    """Tell the listener, if there is one, that a primitive was applied."""
    heard = _heard.get()
    if heard is not None:
        heard.append(AppliedPrimitive(primitive, reason, before, tuple(after)))


def attempt(schedule: Callable[[], _T]) -> _T | None:
    """The result of a schedule; None where it is not legal, and then nobody hears of it."""
    heard = _heard.get()
    count = len(heard or ())
    try:
        return schedule()
    except IllegalError:
        if heard is not None:
            del heard[count:]
        return None
