"""Expressions of kernels as small immutable trees, before they are text.

    Load(Name("x"), Index(8 * i + j))   Op("+", (x, y))   Apply(FUNCTIONS["tanh", F32], (x,))

A tree says what is computed; `codegen.printer` decides how a language spells it. Trees are
compared by value. `codegen.walk` visits and rebuilds them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from optimizer.analysis.indexing import Sum

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.callees import Callee
    from codegen.kinds import Kind
    from optimizer.analysis.indexing import Within


class _Tree:
    """Arithmetic on trees makes trees: `x * 2 + y`. Comparisons are `Op("<", (x, y))`."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Refuse to be part of a text: that is a printer's."""
        raise TypeError(f"{self!r} is printed by a printer only")

    def __add__(self, other: Expr | int) -> Op:
        """The sum."""
        return binary("+", self, other)

    def __radd__(self, other: int) -> Op:
        """The sum."""
        return binary("+", other, self)

    def __sub__(self, other: Expr | int) -> Op:
        """The difference."""
        return binary("-", self, other)

    def __rsub__(self, other: int) -> Op:
        """The difference."""
        return binary("-", other, self)

    def __mul__(self, other: Expr | int) -> Op:
        """The product."""
        return binary("*", self, other)

    def __floordiv__(self, other: Expr | int) -> Op:
        """The quotient, rounded towards zero as in C."""
        return binary("/", self, other)

    def __truediv__(self, other: Expr | int) -> Op:
        """The quotient."""
        return binary("/", self, other)

    def __rtruediv__(self, other: int) -> Op:
        """The quotient."""
        return binary("/", other, self)

    def __mod__(self, other: Expr | int) -> Op:
        """The remainder, with the sign of the dividend as in C."""
        return binary("%", self, other)

    def __lshift__(self, other: Expr | int) -> Op:
        """The bits, moved to the left."""
        return binary("<<", self, other)

    def __rshift__(self, other: Expr | int) -> Op:
        """The bits, moved to the right."""
        return binary(">>", self, other)

    def __and__(self, other: Expr | int) -> Op:
        """The bits that both have."""
        return binary("&", self, other)

    def __or__(self, other: Expr | int) -> Op:
        """The bits that one or both have."""
        return binary("|", self, other)

    def __xor__(self, other: Expr | int) -> Op:
        """The bits that one alone has."""
        return binary("^", self, other)

    def __neg__(self) -> Op:
        """The negative."""
        return Op("-", (self,))  # type: ignore[arg-type]

    def __invert__(self) -> Op:
        """The other bits."""
        return Op("~", (self,))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Name(_Tree):
    """A variable, a parameter or a constant array."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal(_Tree):
    """A number.

    Attributes
    ----------
    kind : the type of the literal; "" for an `int` of C, which takes the type of the other operand;
        "char" for a letter.
    hexadecimal : whether to write it to base 16, as one reads bits.
    """

    value: float = field(compare=False)
    kind: str = ""
    hexadecimal: bool = False
    _bits: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        """Let 0.0 differ from -0.0, and NaN equal NaN."""
        object.__setattr__(self, "_bits", repr(self.value))

    @property
    def is_negative(self) -> bool:
        """Whether it has a minus sign, as -0.0 has."""
        return math.copysign(1, self.value) < 0


class Level(Enum):
    """The level of a launch on a GPU: an index of a block or a thread, or the number of these.

    The values are CUDA's names.
    """

    BLOCK = "blockIdx"
    THREAD = "threadIdx"
    BLOCKS = "gridDim"
    THREADS = "blockDim"


@dataclass(frozen=True, slots=True)
class LaunchIndex(_Tree):
    """The index of a block or a thread along an axis ("x", "y" or "z"), or the number of these."""

    level: Level
    axis: str

    def __str__(self) -> str:
        """CUDA's name: `threadIdx.x`."""
        return f"{self.level.value}.{self.axis}"


BLOCK_X, BLOCK_Y, BLOCK_Z = (LaunchIndex(Level.BLOCK, axis) for axis in "xyz")
THREAD_X, THREAD_Y, THREAD_Z = (LaunchIndex(Level.THREAD, axis) for axis in "xyz")
GRID_X = LaunchIndex(Level.BLOCKS, "x")


@dataclass(frozen=True, slots=True)
class Index(_Tree):
    """Index arithmetic, simplified: see `optimizer.analysis.indexing`."""

    sum: Sum


@dataclass(frozen=True, slots=True)
class Load(_Tree):
    """An element of an array; as the target of an assignment, the element that is written."""

    pointer: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Op(_Tree):
    """An operation of one or two operands.

    Attributes
    ----------
    op : its operator: `+ - * / % << >> < <= > >= == != & ^ | && ||`; of one operand `- ~ ! & *`,
        where `&` is the address and `*` the value at one, and "real" and "imag", the parts of a
        complex number.
    """

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choose(_Tree):
    """One of two values; the other one is not computed."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Cast(_Tree):
    """A value converted to another type."""

    kind: Kind
    value: Expr


@dataclass(frozen=True, slots=True)
class Apply(_Tree):
    """A call of a function, as a value: see `codegen.callees`."""

    function: Callee
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Quoted(_Tree):
    """Text in quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class Struct(_Tree):
    """Several values in braces: of a struct, or of an array.

    Attributes
    ----------
    kind : the type; None in the declaration of a variable, which has it already.
    """

    kind: Kind | None
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Member(_Tree):
    """A field of the struct that a pointer points to."""

    pointer: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Group(_Tree):
    """Parentheses that precedence does not ask for, but a reader may."""

    inside: Expr


Expr = (
    Name | Literal | LaunchIndex | Index | Load | Op | Choose | Cast | Apply | Quoted | Struct
    | Member | Group
)  # fmt: skip


def as_expr(value: Expr | int) -> Expr:
    """An expression as it is; the literal of an integer."""
    return Literal(value) if isinstance(value, int) else value


def binary(op: str, x: Expr | _Tree | int, y: Expr | _Tree | int) -> Op:
    """An operation of two operands, of which either may be an integer."""
    return Op(op, (as_expr(x), as_expr(y)))  # type: ignore[arg-type]


def apply(function: Callee, *args: Expr | int) -> Apply:
    """A call of a function; integers among its arguments become literals."""
    return Apply(function, tuple(map(as_expr, args)))


def total_of(values: Iterable[Expr], op: str) -> Expr:
    """Values joined by an operator, from the left, as in `(a + b) + c`; at least one value."""
    first, *others = values
    for other in others:
        first = Op(op, (first, other))
    return first


def letter(character: str) -> Literal:
    """The literal of a letter."""
    return Literal(ord(character), "char")


def array_of(numbers: Iterable[int], kind: Kind | None = None) -> Struct:
    """Integers, one after the other."""
    return Struct(kind, tuple(map(Literal, numbers)))


def indexed(number: Sum) -> Expr:
    """Index arithmetic as a tree: a literal, a name, or an `Index` that stays as it is."""
    if not number.terms:
        return Literal(number.constant)
    text = number.text
    return Name(text) if text.isidentifier() else Index(number)


def item(pointer: Expr, number: Expr | Sum | int) -> Load:
    """An element of an array, by its number."""
    return Load(pointer, indexed(number) if isinstance(number, Sum) else as_expr(number))


def grouped(value: Expr) -> Expr:
    """A tree in parentheses, unless it is a name or a literal."""
    return value if isinstance(value, Name | Literal) else Group(value)


def at_most(value: Expr, most: Expr | int) -> Choose:
    """A number, or a bound that it exceeds."""
    return Choose(binary("<", value, most), value, as_expr(most))


def negated(condition: Expr) -> Op:
    """The condition that another one does not hold."""
    return Op("!", (condition,))


NEVER = Literal(0)


def condition_of(parts: Iterable[Within]) -> Expr | None:
    """The condition that all parts hold; None if that is certain, `NEVER` if one never does."""
    conditions = [condition for part in parts for condition in conditions_of(part)]
    return NEVER if NEVER in conditions else conjoined(conditions) if conditions else None


def conditions_of(part: Within) -> list[Expr]:
    """The open conditions of a sum; [NEVER] where it never lies in its range."""
    if part.is_impossible:
        return [NEVER]
    value, conditions = indexed(part.value), list[Expr]()
    if part.asks_low:
        conditions.append(binary(">=", value, part.low))
    if part.asks_high:
        conditions.append(binary("<", value, part.high))
    if part.asks_divisor:
        conditions.append(binary("==", Group(value) % part.divisor, 0))
    return conditions


def conjoined(conditions: Sequence[Expr]) -> Expr:
    """The condition that all conditions hold, of which there is one at least."""
    return total_of(conditions, "&&")


def is_number(expr: Expr, number: int) -> bool:
    """Whether a tree is the literal of an integer."""
    return isinstance(expr, Literal) and not expr.kind and expr.value == number
