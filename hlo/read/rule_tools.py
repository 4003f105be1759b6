"""Functions that the methods behind the rules of `hlo.lark` share."""

from __future__ import annotations

from typing import Any

from lark import Token

INT64 = range(-(2**63), 2**63)
LONGEST_INTEGER = 40


class BadValue(Exception):  # noqa: N818 - it is the value that is bad
    """A value that the grammar reads but that means nothing; `token` is where, if known."""

    def __init__(self, message: str, token: Any = None, notes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.notes = notes
        self.token = token if isinstance(token, Token) else None


def integer(token: Any, whole: Any = None) -> int:
    """A number that fits into 64 bits; `whole` is the token of which it is a part."""
    # Python refuses to convert thousands of digits, so they are counted first.
    number = int(token) if len(token) <= LONGEST_INTEGER else 2**64
    if number not in INT64:
        raise BadValue("the integer does not fit into 64 bits", whole or token)
    return number


def integers(tokens: Any) -> tuple[int, ...]:
    """Some numbers, absent ones left out."""
    return tuple(integer(t) for t in tokens if t is not None)


def present(items: Any) -> tuple[Any, ...]:
    """The present parts of a list in which absent ones are None."""
    return tuple(item for item in items if item is not None)


def by(token: Any) -> tuple[tuple[int, ...], ...]:
    """The numbers of `1_2x3_4`: a tuple for each dimension."""
    parts = str(token).split("x")
    return tuple(tuple(integer(n, token) for n in part.split("_")) for part in parts)
