"""What patterns consist of: variables, numbers, arithmetic on constants, applied opcodes.

Matching walks a pattern and an instruction side by side. It is plain recursion, since patterns are
shallow however deep the graph is. `optimizer.rewriting.pattern` has the ways to write these down.
"""

from __future__ import annotations

import builtins
import keyword
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from hlo.wording import with_article
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optimizer.rewriting.make import Number

Bindings = dict[str, Any]


class Term:
    """A part of a rule's side."""

    __slots__ = ()

    def mismatch(self, instr: Instruction, found: Bindings) -> Mismatch | None:
        """Match an instruction and write down what the variables stand for.

        Returns
        -------
        Mismatch or None
            None if it matches; else the innermost term that does not, and what it met.
        """
        raise NotImplementedError

    def reason(self, instr: Instruction, found: Bindings) -> str:
        """Why this very term does not match."""
        raise NotImplementedError


# Made for every failed match, so it is a mere tuple; `optimizer.rewriting.rule.explain` puts it
# in words.
Mismatch = tuple[Term, Instruction]


@dataclass(frozen=True, slots=True)
class Variable(Term):
    """Any instruction."""

    name: str

    def mismatch(self, instr: Instruction, found: Bindings) -> Mismatch | None:
        """Bind the name, or check that it stands for this instruction already."""
        return None if found.setdefault(self.name, instr) is instr else (self, instr)

    def reason(self, instr: Instruction, found: Bindings) -> str:
        """It stands for another instruction already."""
        return f"{self.name} is %{found[self.name].name} already, so it is not %{instr.name}"

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

    def mismatch(self, instr: Instruction, found: Bindings) -> Mismatch | None:
        """Bind the name, or check that it stands for an equal constant already."""
        # The opcode says no most often, and fastest.
        if instr.opcode not in CONSTANT_OPCODES or (value := value_of(instr)) is None:
            return self, instr
        other = found.setdefault(self.name, instr)
        if other is instr:
            return None
        return None if _same_bits(value, value_of(other)) else (self, instr)

    def reason(self, instr: Instruction, found: Bindings) -> str:
        """It is no constant, or another one."""
        if value_of(instr) is None:
            return f"{self.name} is a constant, %{instr.name} is {with_article(instr.opcode)}"
        return f"{self.name} is %{found[self.name].name} already, so it is not %{instr.name}"

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Folded(Arithmetic):
    """What an elementwise opcode makes of constants, computed when the rule is applied.

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

    def mismatch(self, instr: Instruction, found: Bindings) -> Mismatch | None:  # noqa: ARG002
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

    def reason(self, instr: Instruction, found: Bindings) -> str:  # noqa: ARG002
        """It is no constant, or holds another number."""
        return f"%{instr.name}, {with_article(instr.opcode)}, is not {self.value} everywhere"

    def __str__(self) -> str:
        """The number."""
        return str(self.value)


@dataclass(frozen=True, slots=True)
class AttributeVariable:
    """An attribute, or a computation that is called."""

    name: str

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Rest(Term):
    """All operands from here on, as a tuple; the same ones wherever the name stands again.

    Attributes
    ----------
    opcode : that all of them have; "" for any.
    """

    name: str
    opcode: str = ""

    def __str__(self) -> str:
        """The name, with a star, and the opcode."""
        return f"*{self.name}:={python_name(self.opcode)}(...)" if self.opcode else f"*{self.name}"


@dataclass(frozen=True, slots=True)
class Application(Term):
    """An opcode, or one of several, applied to terms.

    Attributes
    ----------
    attrs : field of the attribute class, or key of a called computation, to a value or variable.
    shape : on the right, a variable whose shape the new instruction gets, where its shape does not
        follow from the operands. The outermost one gets that of what it replaces.
    binds : a name for the instruction itself; "" for none.
    fixed : operands of a commutative opcode match in this order only.
    """

    opcodes: tuple[str, ...]
    operands: tuple[Term, ...]
    attrs: tuple[tuple[str, Any], ...] = ()
    shape: Variable | None = None
    binds: str = ""
    fixed: bool = False
    # What `mismatch` needs of the above, worked out once.
    attributes: tuple[tuple[str, Any], ...] = field(init=False, compare=False)
    called: tuple[tuple[int, Any], ...] = field(init=False, compare=False)
    rest: str = field(init=False, compare=False)
    rest_opcode: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the attributes from the computations that are called."""
        keys = OPCODES[self.opcodes[0]].called
        set_ = object.__setattr__
        set_(self, "attributes", tuple((k, v) for k, v in self.attrs if k not in keys))
        set_(self, "called", tuple((keys.index(k), v) for k, v in self.attrs if k in keys))
        last = self.operands[-1] if self.operands else None
        set_(self, "rest", last.name if isinstance(last, Rest) else "")
        set_(self, "rest_opcode", last.opcode if isinstance(last, Rest) else "")

    @property
    def depth(self) -> int:
        """How many levels of instructions it names; itself is the first."""
        inner = [o.depth if isinstance(o, Application) else 1 for o in self.operands]
        return 1 + max(inner, default=0)

    def as_(self, name: Variable) -> Application:
        """The same, with a name for the instruction that it matches."""
        return replace(self, binds=name.name)

    def in_order(self) -> Application:
        """The same, but commutative operands match in this order only."""
        return replace(self, fixed=True)

    def mismatch(self, instr: Instruction, found: Bindings) -> Mismatch | None:
        """Compare opcode, operands and attributes."""
        if instr.opcode not in self.opcodes:
            return self, instr
        operands, terms = instr.operands, self.operands
        if self.rest:
            terms = terms[:-1]
            if len(operands) < len(terms) or not self._same_rest(operands[len(terms) :], found):
                return self, instr
        elif len(operands) != len(terms):
            return self, instr
        for inner, operand in zip(terms, operands, strict=False):
            failed = inner.mismatch(operand, found)
            if failed is not None:
                return failed
        if self.attrs and not self._same_attributes(instr, found):
            return self, instr
        if self.binds:
            found[self.binds] = instr
        return None

    def _same_rest(self, rest: tuple[Instruction, ...], found: Bindings) -> bool:
        if self.rest_opcode and any(o.opcode != self.rest_opcode for o in rest):
            return False
        return found.setdefault(self.rest, rest) == rest

    def _same_attributes(self, instr: Instruction, found: Bindings) -> bool:
        for name, wanted in self.attributes:
            if not _bind(wanted, getattr(instr.attrs, name), found):
                return False
        return all(_bind(wanted, instr.called[i], found) for i, wanted in self.called)

    def reason(self, instr: Instruction, found: Bindings) -> str:
        """Another opcode, number of operands, or attribute."""
        if instr.opcode not in self.opcodes:
            wanted = with_article(" or ".join(self.opcodes))
            return f"%{instr.name} is {with_article(instr.opcode)}, not {wanted}"
        count = len(instr.operands)
        if not self.rest and count != len(self.operands):
            return f"%{instr.name} has {count} operands, not {len(self.operands)}"
        rest = instr.operands[len(self.operands) - 1 :]
        if self.rest and found.get(self.rest) != rest:
            return f"%{instr.name} has other operands than *{self.rest} already stands for"
        if self.rest_opcode and any(operand.opcode != self.rest_opcode for operand in rest):
            return f"%{instr.name} has operands other than {with_article(self.rest_opcode)}"
        for name, wanted in self.attributes:
            given = getattr(instr.attrs, name)
            if not _bind(wanted, given, found):
                value = found[wanted.name] if isinstance(wanted, AttributeVariable) else wanted
                return f"%{instr.name} has {name}={given}, not {value}"
        return f"%{instr.name} calls another computation"

    def __str__(self) -> str:
        """As Python spells it."""
        inner = [str(operand) for operand in self.operands]
        named = [f"{key}={value}" for key, value in self.attrs]
        head = "|".join(python_name(opcode) for opcode in self.opcodes)
        text = f"{head}({', '.join(inner + named)})"
        return f"{self.binds}:={text}" if self.binds else text


def term(value: Any) -> Term:
    """A number as a term; a term as it is."""
    return value if isinstance(value, Term) else Exactly(value)


def orders(pattern: Term) -> Iterator[Term]:
    """The same pattern with the operands of commutative opcodes in every order, itself first.

    Matching tries them in turn, each with empty bindings; so no order sees what another has bound.
    """
    if not isinstance(pattern, Application):
        yield pattern
        return
    seen: set[str] = set()
    for operands in product(*(list(orders(operand)) for operand in pattern.operands)):
        for order in permutations(operands) if _commutes(pattern) else (operands,):
            made = replace(pattern, operands=tuple(order))
            if str(made) not in seen:
                seen.add(str(made))
                yield made


def _commutes(pattern: Application) -> bool:
    traits = [OPCODES[opcode].traits for opcode in pattern.opcodes]
    return not pattern.fixed and all("commutative" in each for each in traits)


def _bind(wanted: Any, given: Any, found: Bindings) -> bool:
    """Bind an attribute variable, or compare an attribute with what is wanted."""
    if isinstance(wanted, AttributeVariable):
        return found.setdefault(wanted.name, given) == given
    return wanted == given


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
