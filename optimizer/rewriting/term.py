"""The leaves of patterns: variables, numbers, and arithmetic on constants.

Matching walks a pattern and an instruction side by side. It is plain recursion, since patterns are
shallow however deep the graph is. `optimizer.rewriting.application` has the inner nodes,
`optimizer.rewriting.pattern` the ways to write patterns down.
"""

from __future__ import annotations

import builtins
import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from hlo.instruction import Instruction
from hlo.wording import with_article
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from optimizer.rewriting.make import Number

Bindings = dict[str, Any]


class Term:
    """A part of a rule's side."""

    __slots__ = ()

    def mismatch(self, instr: Instruction, bindings: Bindings) -> Mismatch | None:
        """Match an instruction and write down the bindings of variables.

        Returns
        -------
        Mismatch or None
            None if it matches; else the innermost term that does not, and what it met.
        """
        raise NotImplementedError

    def reason(self, instr: Instruction, bindings: Bindings) -> str:
        """The reason why this very term does not match."""
        raise NotImplementedError

    def _no_operator(self, other: object) -> Any:  # noqa: ARG002
        problem = f"`{self}` is an instruction, and takes none of Python's operators"
        raise TypeError(f"{problem}: write add(x, y) or multiply(x, 2)")

    __add__ = __sub__ = __mul__ = __truediv__ = _no_operator
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = _no_operator


# Made for every failed match, so it is a mere tuple; `optimizer.rewriting.rule.explain` puts it
# in words.
Mismatch = tuple[Term, Instruction]


@dataclass(frozen=True, slots=True)
class Variable(Term):
    """Any instruction."""

    name: str

    def mismatch(self, instr: Instruction, bindings: Bindings) -> Mismatch | None:
        """Bind the name to the instruction, or check that it is bound to it."""
        return None if bindings.setdefault(self.name, instr) is instr else (self, instr)

    def reason(self, instr: Instruction, bindings: Bindings) -> str:
        """The variable is bound to another instruction."""
        return f"{self.name} is %{bindings[self.name].name} already, so it is not %{instr.name}"

    def __str__(self) -> str:
        """The name."""
        return self.name


class Arithmetic(Term):
    """A term whose value is known when the rule is applied: `1 / c`, `c1 + c2`."""

    __slots__ = ()

    def __add__(self, other: Arithmetic | Number) -> Folded:
        """The sum, in the constants' element type."""
        return Folded("add", (self, term(other)))

    def __radd__(self, other: Number) -> Folded:
        """The sum, in the constant's element type."""
        return Folded("add", (term(other), self))

    def __sub__(self, other: Arithmetic | Number) -> Folded:
        """The difference, in the constants' element type."""
        return Folded("subtract", (self, term(other)))

    def __rsub__(self, other: Number) -> Folded:
        """The difference, in the constant's element type."""
        return Folded("subtract", (term(other), self))

    def __mul__(self, other: Arithmetic | Number) -> Folded:
        """The product, in the constants' element type."""
        return Folded("multiply", (self, term(other)))

    def __rmul__(self, other: Number) -> Folded:
        """The product, in the constant's element type."""
        return Folded("multiply", (term(other), self))

    def __truediv__(self, other: Arithmetic | Number) -> Folded:
        """The quotient, in the constants' element type."""
        return Folded("divide", (self, term(other)))

    def __rtruediv__(self, other: Number) -> Folded:
        """The quotient, in the constant's element type."""
        return Folded("divide", (term(other), self))

    def __and__(self, other: Arithmetic | Number) -> Folded:
        """The bits that are set in both."""
        return Folded("and", (self, term(other)))

    def __or__(self, other: Arithmetic | Number) -> Folded:
        """The bits that are set in either."""
        return Folded("or", (self, term(other)))

    def __xor__(self, other: Arithmetic | Number) -> Folded:
        """The bits that are set in one of them."""
        return Folded("xor", (self, term(other)))

    def __neg__(self) -> Folded:
        """The opposite, in the constant's element type."""
        return Folded("negate", (self,))


@dataclass(frozen=True, slots=True)
class ConstantVariable(Arithmetic):
    """A constant, or a broadcast of a scalar constant."""

    name: str

    def mismatch(self, instr: Instruction, bindings: Bindings) -> Mismatch | None:
        """Bind the name, or check that it stands for an equal constant already."""
        # The opcode says no most often, and fastest.
        if instr.opcode not in CONSTANT_OPCODES or (value := value_of(instr)) is None:
            return self, instr
        other = bindings.setdefault(self.name, instr)
        if other is instr:
            return None
        return None if _same_bits(value, value_of(other)) else (self, instr)

    def reason(self, instr: Instruction, bindings: Bindings) -> str:
        """The instruction is no constant, or the variable is bound to another one."""
        if value_of(instr) is None:
            return f"{self.name} is a constant, %{instr.name} is {with_article(instr.opcode)}"
        return f"{self.name} is %{bindings[self.name].name} already, so it is not %{instr.name}"

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Folded(Arithmetic):
    """An elementwise opcode of constants, computed when the rule is applied.

    Python's signs make some: `c1 + c2`; any other is written out: `Folded("maximum", (c1, c2))`.
    """

    opcode: str
    operands: tuple[Term, ...]

    def __str__(self) -> str:
        """As Python spells it."""
        if self.opcode not in SIGNS:
            return f"{python_name(self.opcode)}({', '.join(map(str, self.operands))})"
        shown = [f"({o})" if isinstance(o, Folded) else str(o) for o in self.operands]
        return f" {SIGNS[self.opcode]} ".join(shown) if len(shown) > 1 else f"-{shown[0]}"


SIGNS: Final = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "negate": "-",
    "and": "&",
    "or": "|",
    "xor": "^",
}
CONSTANT_OPCODES: Final = frozenset({"constant", "broadcast"})


@dataclass(frozen=True, slots=True)
class Exactly(Term):
    """A constant that is one number everywhere."""

    value: Number

    def mismatch(self, instr: Instruction, bindings: Bindings) -> Mismatch | None:  # noqa: ARG002
        """Look at the constant's elements."""
        if instr.opcode not in CONSTANT_OPCODES:
            return self, instr
        value = value_of(instr)
        return None if value is not None and self.is_all_of(value) else (self, instr)

    def is_all_of(self, value: np.ndarray[Any, Any]) -> bool:
        """Whether an array holds nothing but this number."""
        if not value.size:
            return False
        # NumPy refuses to compare s8 with 1000, Python does not.
        first = value.flat[0].item() if isinstance(self.value, int) else value.flat[0]
        if first != self.value or not (value == value.flat[0]).all():
            return False
        if self.value != 0 or isinstance(self.value, int) or value.dtype.kind in "biu":
            return True
        # Of a complex number both parts count.
        parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
        sign = np.signbit(cast("float", self.value))
        return all(bool((np.signbit(part) == sign).all()) for part in parts)

    def reason(self, instr: Instruction, bindings: Bindings) -> str:  # noqa: ARG002
        """The instruction is no constant, or holds another number."""
        return f"%{instr.name}, {with_article(instr.opcode)}, is not {self.value} everywhere"

    def __str__(self) -> str:
        """The number."""
        return str(self.value)


def term(value: Any) -> Term:
    """A number as a term; a term as it is."""
    return value if isinstance(value, Term) else Exactly(value)


def _same_bits(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any] | None) -> bool:
    return (
        other is not None
        and (one.dtype, one.shape) == (other.dtype, other.shape)
        and one.tobytes() == other.tobytes()
    )


def python_name(opcode: str) -> str:
    """The name of an opcode's constructor."""
    name = opcode.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) or hasattr(builtins, name) else name
