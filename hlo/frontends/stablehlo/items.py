"""The items of custom forms, beside numbers, strings, lists and dictionaries."""

from __future__ import annotations

from typing import Any, NamedTuple, Self


class Keyword(NamedTuple):
    """`dim = 0`, in a custom form."""

    name: str
    value: Any


class Binding(NamedTuple):
    """`%iterArg = %0`, in a custom form."""

    name: str
    value: str


class Word(str):
    """A word by itself, in a custom form."""

    __slots__ = ()


class ValueName(str):
    """The name of a value."""

    __slots__ = ()


class Parentheses(tuple[Any, ...]):
    """Items in parentheses, in a custom form."""

    __slots__ = ()


class Integer(int):
    """An integer, and the type that the text gives it: `1 : i64`."""

    kind: str

    def __new__(cls, value: int, kind: str | None = None) -> Self:
        """Without a type it is an i64, as in MLIR."""
        integer = super().__new__(cls, value)
        integer.kind = kind or "i64"
        return integer


class Real(float):
    """A float, and the type that the text gives it: `1.0 : f32`."""

    kind: str

    def __new__(cls, value: float, kind: str | None = None) -> Self:
        """Without a type it is an f64, as in MLIR."""
        real = super().__new__(cls, value)
        real.kind = kind or "f64"
        return real
