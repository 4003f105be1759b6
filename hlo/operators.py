"""Python's operators on instructions: inside of `with Builder():`, `x * 2 + y` appends to it.

A number becomes a constant of the other operand's element type, and is broadcast to its dimensions.
HLO itself never broadcasts, so two arrays have the same dimensions. `==` is not among the
operators: instructions are compared by identity.
"""

from __future__ import annotations

from contextvars import ContextVar
from numbers import Number
from typing import Any, Protocol, Self


class Appends(Protocol):
    """A builder, as far as operators know it."""

    def number(self, number: Any, like: Any) -> Any:
        """A number as an array like another instruction."""

    def add(self, opcode: str, *operands: Any, **rest: Any) -> Any:
        """Append an instruction."""


# The builder that operators append to.
BUILDING: ContextVar[Appends] = ContextVar("BUILDING")


class Operators:
    """The operators of instructions."""

    __slots__ = ()

    def __add__(self, other: Any) -> Self:
        return _made("add", self, other)

    def __radd__(self, other: Any) -> Self:
        return _made("add", other, self)

    def __sub__(self, other: Any) -> Self:
        return _made("subtract", self, other)

    def __rsub__(self, other: Any) -> Self:
        return _made("subtract", other, self)

    def __mul__(self, other: Any) -> Self:
        return _made("multiply", self, other)

    def __rmul__(self, other: Any) -> Self:
        return _made("multiply", other, self)

    def __truediv__(self, other: Any) -> Self:
        return _made("divide", self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return _made("divide", other, self)

    def __mod__(self, other: Any) -> Self:
        return _made("remainder", self, other)

    def __pow__(self, other: Any) -> Self:
        return _made("power", self, other)

    def __and__(self, other: Any) -> Self:
        return _made("and", self, other)

    def __or__(self, other: Any) -> Self:
        return _made("or", self, other)

    def __xor__(self, other: Any) -> Self:
        return _made("xor", self, other)

    def __lt__(self, other: Any) -> Self:
        return _made("compare", self, other, direction="LT")

    def __le__(self, other: Any) -> Self:
        return _made("compare", self, other, direction="LE")

    def __gt__(self, other: Any) -> Self:
        return _made("compare", self, other, direction="GT")

    def __ge__(self, other: Any) -> Self:
        return _made("compare", self, other, direction="GE")

    def __neg__(self) -> Self:
        return _made("negate", self)

    def __abs__(self) -> Self:
        return _made("abs", self)

    def __invert__(self) -> Self:
        return _made("not", self)


def _made(opcode: str, *operands: Any, **attrs: Any) -> Any:
    """The instruction, appended to the builder; `NotImplemented` where there is none."""
    like = next(o for o in operands if isinstance(o, Operators))
    if any(not isinstance(o, Operators | Number) for o in operands):
        return NotImplemented
    builder = BUILDING.get(None)
    if builder is None:
        raise TypeError(f"`{opcode}` of instructions needs a builder: with Builder() as b: ...")
    values = [o if isinstance(o, Operators) else builder.number(o, like) for o in operands]
    return builder.add(opcode, *values, **attrs)
