"""Opcodes applied to terms: a pattern's inner nodes, with attributes and orders of operands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

from hlo.opcode import OPCODES
from hlo.wording import counted, with_article
from optimizer.rewriting.term import Bindings, Mismatch, Term, Variable, python_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Instruction


@dataclass(frozen=True, slots=True)
class AttributeVariable:
    """An attribute, or a computation that is called."""

    name: str

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Rest(Term):
    """All operands from here on, as a tuple; the same ones wherever the name occurs again.

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
    # Values that `mismatch` needs of the above, worked out once.
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
        """The number of levels of instructions that the pattern has; its root is the first."""
        inner = [o.depth if isinstance(o, Application) else 1 for o in self.operands]
        return 1 + max(inner, default=0)

    def as_(self, name: Variable) -> Application:
        """The same pattern, with a name for the instruction that it matches."""
        return replace(self, binds=name.name)

    def in_order(self) -> Application:
        """The same pattern, whose commutative operands match in this order only."""
        return replace(self, fixed=True)

    def mismatch(self, instr: Instruction, bindings: Bindings) -> Mismatch | None:
        """Compare opcode, operands and attributes."""
        if instr.opcode not in self.opcodes:
            return self, instr
        operands, terms = instr.operands, self.operands
        if self.rest:
            terms = terms[:-1]
            if len(operands) < len(terms) or not self._same_rest(operands[len(terms) :], bindings):
                return self, instr
        elif len(operands) != len(terms):
            return self, instr
        for inner, operand in zip(terms, operands, strict=False):
            failed = inner.mismatch(operand, bindings)
            if failed is not None:
                return failed
        if self.attrs and not self._same_attributes(instr, bindings):
            return self, instr
        if self.binds:
            bindings[self.binds] = instr
        return None

    def _same_rest(self, rest: tuple[Instruction, ...], bindings: Bindings) -> bool:
        if self.rest_opcode and any(o.opcode != self.rest_opcode for o in rest):
            return False
        return bindings.setdefault(self.rest, rest) == rest

    def _same_attributes(self, instr: Instruction, bindings: Bindings) -> bool:
        for name, wanted in self.attributes:
            if not _bind(wanted, getattr(instr.attrs, name), bindings):
                return False
        return all(_bind(wanted, instr.called[i], bindings) for i, wanted in self.called)

    def reason(self, instr: Instruction, bindings: Bindings) -> str:
        """Another opcode, number of operands, or attribute."""
        if instr.opcode not in self.opcodes:
            wanted = with_article(" or ".join(self.opcodes))
            return f"%{instr.name} is {with_article(instr.opcode)}, not {wanted}"
        count = len(instr.operands)
        if not self.rest and count != len(self.operands):
            return f"%{instr.name} has {counted(count, 'operand')}, not {len(self.operands)}"
        rest = instr.operands[len(self.operands) - 1 :]
        if self.rest and bindings.get(self.rest) != rest:
            return f"%{instr.name} has other operands than *{self.rest} already stands for"
        if self.rest_opcode and any(operand.opcode != self.rest_opcode for operand in rest):
            return f"%{instr.name} has operands other than {with_article(self.rest_opcode)}"
        for name, wanted in self.attributes:
            value_here = getattr(instr.attrs, name)
            if not _bind(wanted, value_here, bindings):
                value = bindings[wanted.name] if isinstance(wanted, AttributeVariable) else wanted
                return f"%{instr.name} has {name}={value_here}, not {value}"
        return f"%{instr.name} calls another computation"

    def __str__(self) -> str:
        """As Python spells it."""
        inner = [str(operand) for operand in self.operands]
        named = [f"{key}={value}" for key, value in self.attrs]
        head = "|".join(python_name(opcode) for opcode in self.opcodes)
        text = f"{head}({', '.join(inner + named)})"
        return f"{self.binds}:={text}" if self.binds else text


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
            variant = replace(pattern, operands=tuple(order))
            if str(variant) not in seen:
                seen.add(str(variant))
                yield variant


def _commutes(pattern: Application) -> bool:
    traits = [OPCODES[opcode].traits for opcode in pattern.opcodes]
    return not pattern.fixed and all("commutative" in trait for trait in traits)


def _bind(wanted: Any, value: Any, bindings: Bindings) -> bool:
    """Bind an attribute variable, or compare an attribute with the wanted value."""
    if isinstance(wanted, AttributeVariable):
        return bindings.setdefault(wanted.name, value) == value
    return wanted == value
