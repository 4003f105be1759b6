"""A loop over neighbours of 16 bits, as one over pairs of them.

A value that is loaded, stored, or computed by an operation of pairs is a pair; other statements
are there for each of its halves. An f32 has more than twice the digits of these types, so the sum
or the product of a pair has the bits of one that is computed in f32 and rounded.

References
----------
Figueroa, *When is double rounding innocuous?*, SIGNUM Newsletter 30(3), 1995. NVIDIA, *PTX ISA*,
Half Precision Floating Point Instructions. XLA, `xla/service/gpu/gpu_float_support.cc`, which
leaves sums and products of bf16 as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import FUNCTIONS, Callee
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Group,
    Index,
    Literal,
    Load,
    Name,
    Op,
    binary,
    indexed,
)
from codegen.statements import Assign, Let
from codegen.walk import names_of, rebuilt, substitute
from hlo.types.element_type import ELEMENT_TYPES, F32, ElementType
from optimizer.analysis.indexing import Counter, Sum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.elements.names import Names
    from codegen.expressions import Expr
    from codegen.statements import For, Statement

TYPES = ("bf16", "f16")
# Operations of two numbers that the hardware has for pairs.
_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply"}
_FUNCTIONS = {FUNCTIONS[name, F32]: name for name in ("maximum", "minimum")}
_HALVES = ("low", "high")


def number_of_pair(index: Expr, iteration: str) -> Expr | None:
    """The number of the pair that begins with an element; None where none need begin there."""
    if index == Name(iteration):
        return binary("/", index, 2)
    if not isinstance(index, Index):
        return None
    total = index.sum
    own = [(a, f) for a, f in total.terms if isinstance(a, Counter) and a.name == iteration]
    rest = tuple((a, f) for a, f in total.terms if (a, f) not in own)
    even = total.constant % 2 == 0 and all(f % 2 == 0 for _, f in rest)
    if [f for _, f in own] != [1] or not even or total.names.count(iteration) != 1:
        return None
    halves = Sum(total.constant // 2, tuple((a, f // 2) for a, f in rest))
    return binary("+", indexed(halves), binary("/", Name(iteration), 2))


def type_of(value: Expr, values: Mapping[str, str]) -> str | None:
    """The type of 16 bits that an f32 certainly fits into; None if there is none.

    Parameters
    ----------
    values : the same of names.
    """
    match value:
        case Name(name):
            return values.get(name)
        case Group(inside) | Cast("f32", inside) | Op("-", (inside,)):
            return type_of(inside, values)
        case Choose(_, then, otherwise):
            kind = type_of(then, values)
            return kind if kind and _fits(otherwise, kind, values) else None
        case Apply(Callee("load" | "narrow", ElementType(kind)), _) if kind in TYPES:
            return kind
        case _:
            return None


def _fits(value: Expr, kind: str, values: Mapping[str, str]) -> bool:
    if isinstance(value, Literal):
        return float(_rounded_number(value, kind)) == value.value
    return type_of(value, values) == kind


def _rounded_number(value: Literal, kind: str) -> np.generic:
    with np.errstate(over="ignore"):
        return ELEMENT_TYPES[kind].dtype.type(value.value)


def _of(stem: str, kind: str) -> Callee:
    return FUNCTIONS[stem, ELEMENT_TYPES[kind]]


class PairLoop:
    """Writes the loop.

    Parameters
    ----------
    arrays : those that hold pairs, and the types of their elements.
    values : the names of f32 that fit into 16 bits, and the types that they fit into.

    Attributes
    ----------
    before, made : statements in front of the loop, and of its body.
    pairs : the pair for the name of a number.
    highs : the name for the high half, where a name stands for the low half now.
    rounded : the pairs of values that are rounded, by type and value.
    """

    def __init__(
        self, loop: For, arrays: Mapping[str, str], values: Mapping[str, str], names: Names
    ) -> None:
        self.loop, self.arrays, self.values, self.names = loop, arrays, values, names
        self.before: list[Statement] = []
        self.made: list[Statement] = []
        self.pairs: dict[str, Expr] = {}
        self.highs: dict[str, str] = {}
        self.rounded: dict[tuple[str, Expr], Expr] = {}
        self._halves: dict[Expr, tuple[Name, Name]] = {}
        self._twice: dict[tuple[str, str], Name] = {}
        self._lets = {s.name: s.value for s in loop.body if isinstance(s, Let)}
        self._wanted = self._wanted_as_pairs()

    def statements(self) -> list[Statement]:
        """The loop, after the pairs that do not change in it."""
        for statement in self.loop.body:
            if isinstance(statement, Let):
                self._let(statement)
            elif isinstance(statement, Assign):
                self._assign(statement)
        return [*self.before, replace(self.loop, step=2, body=tuple(self.made))]

    def _wanted_as_pairs(self) -> set[str]:
        """The names that an operation of pairs or an array of pairs takes."""
        names: set[str] = set()
        rounding = {v: n for n, v in self._lets.items() if n in self.values}

        def take(value: Expr, kind: str) -> None:
            names.update(n for n in [rounding.get(Apply(_of("narrow", kind), (value,)))] if n)
            operation = self._operation(value, kind)
            for operand in operation[1] if operation else (value,):
                names.update(names_of(operand) if type_of(operand, self.values) == kind else ())

        for statement in reversed(self.loop.body):
            match statement:
                case Assign(Load(Name(array)), Apply(_, (value,))) if array in self.arrays:
                    take(value, self.arrays[array])
                case Let("f32", name, Apply(_, (value,))) if kind := self.values.get(name):
                    if self._operation(value, kind):
                        take(value, kind)
                case Let("f32", name, value) if name in names and name in self.values:
                    names.update(names_of(value))
                case _:
                    pass
        return names

    def _operation(self, value: Expr, kind: str) -> tuple[str, tuple[Expr, ...]] | None:
        """The operation of pairs that gives a rounded value, and its operands."""
        match value:
            case Op(op, (_, _)) if op in _OPERATORS:
                name = _OPERATORS[op]
            case Apply(function, _) if function in _FUNCTIONS:
                name = _FUNCTIONS[function]
            case _:
                return None
        fit = all(_fits(arg, kind, self.values) for arg in value.args)
        return (name, value.args) if fit else None

    # -------------------------------------------------------------------------------- statements

    def _let(self, statement: Let) -> None:
        name, value = statement.name, statement.value
        if (pair := self._named_pair(name, value)) is not None:
            if not isinstance(pair, Name):
                self.made.append(Let("u32", name, pair))
                pair = Name(name)
            self.pairs[name] = pair
        elif self._varies(value):
            low, high = (self._half(value, half) for half in (0, 1))
            self.highs[name] = self.names.unique(name)
            self.made.append(Let(statement.kind, name, low))
            self.made.append(Let(statement.kind, self.highs[name], high))
        else:
            self.made.append(statement)

    def _named_pair(self, name: str, value: Expr) -> Expr | None:
        """The pair to which a name is given; None where it stands for two values."""
        kind = self.values.get(name, "")
        match value:
            case Load(Name(array)) if array in self.arrays:
                return self._bits(value)
            case Apply(function, (inside,)) if kind and function is _of("load", kind):
                return self._bits(inside)
            case Apply(function, (inside,)) if kind and function is _of("narrow", kind):
                if name in self._wanted or self._operation(inside, kind):
                    pair = self._rounded(inside, kind)
                    self.rounded[kind, inside] = Name(name)
                    return pair
            case Cast("f32", Name(other)) | Name(other) if kind:
                return self.pairs.get(other)
            case _:
                pass
        return None

    def _assign(self, statement: Assign) -> None:
        target, value = statement.target, statement.value
        if isinstance(target, Load) and (pair := self._bits(target)) is not None:
            self.made.append(Assign(pair, self._stored(value, self.arrays[names_of(target)[0]])))
            return
        for half in (0, 1):
            self.made.append(Assign(self._half(target, half), self._half(value, half)))

    # ------------------------------------------------------------------------------------- pairs

    def _bits(self, bits: Expr) -> Expr | None:
        """The pair of two stored numbers; None where they are apart."""
        match bits:
            case Name(name):
                return self.pairs.get(name)
            case Load(Name(array) as pointer, index) if array in self.arrays:
                number = number_of_pair(index, self.loop.name)
                assert number is not None, bits
                return Load(pointer, number)
            case _:
                return None

    def _stored(self, value: Expr, kind: str) -> Expr:
        """The pair of two values in their stored form."""
        if isinstance(value, Apply) and value.function is _of("store", kind):
            return self._rounded(value.args[0], kind)
        if (pair := self._bits(value)) is not None:
            return pair
        low, high = (Cast("u32", self._half(value, half)) for half in (0, 1))
        return binary("|", binary("<<", high, 16), low)

    def _rounded(self, value: Expr, kind: str) -> Expr:
        """The pair of two values that are rounded."""
        if (known := self.rounded.get((kind, value))) is not None:
            return known
        if _fits(value, kind, self.values):
            return self._pair(value, kind)
        if operation := self._operation(value, kind):
            name, operands = operation
            pairs = tuple(self._pair(operand, kind) for operand in operands)
            return Apply(_of(f"{name}_pairs", kind), pairs)
        return self._joined(value, kind)

    def _joined(self, value: Expr, kind: str) -> Expr:
        return Apply(_of("pair", kind), (self._half(value, 0), self._half(value, 1)))

    def _pair(self, value: Expr, kind: str) -> Expr:
        """The pair of two values that fit into 16 bits."""
        match value:
            case Group(inside) | Cast("f32", inside):
                return self._pair(inside, kind)
            case Literal():
                bits = int(np.asarray(_rounded_number(value, kind)).view(np.uint16))
                return Literal(bits * 0x10001, "u32", hexadecimal=True)
            case Name(name):
                return self.pairs.get(name) or self._same_twice(name, kind)
            case Op("-", (inside,)):
                signs = Literal(0x80008000, "u32", hexadecimal=True)
                return binary("^", self._pair(inside, kind), signs)
            case Apply(function, (inside,)):
                loads = function is _of("load", kind)
                pair = self._bits(inside) if loads else self._rounded(inside, kind)
                return pair or self._joined(value, kind)
            case _:
                return self._joined(value, kind)

    def _same_twice(self, name: str, kind: str) -> Expr:
        """The pair for a name that has none: of a value from outside, there is one for all."""
        if name in self._lets:
            return self._joined(Name(name), kind)
        if (name, kind) not in self._twice:
            pair = self._twice[name, kind] = Name(self.names.unique(f"{name}_twice"))
            self.before.append(Let("u32", pair.name, self._joined(Name(name), kind)))
        return self._twice[name, kind]

    # ------------------------------------------------------------------------------------ halves

    def _varies(self, value: Expr) -> bool:
        """Whether the two halves of a value differ."""
        varying = {self.loop.name, *self.pairs, *self.highs, *self.arrays}
        return not varying.isdisjoint(names_of(value))

    def _half(self, value: Expr, half: int) -> Expr:
        """One of the two values for which a tree stands."""
        match value:
            case Name(name) if name in self.pairs:
                return self._half_of_pair(self.pairs[name], self.values.get(name, ""), half)
            case Apply(Callee("load", ElementType(kind)), (inside,)) if kind in TYPES:
                if (pair := self._bits(inside)) is not None:
                    return self._half_of_pair(pair, kind, half)
            case Load() if (pair := self._bits(value)) is not None:
                return self._half_of_pair(pair, "", half)
            case Name() | Index():
                return substitute(value, self._in_high_half()) if half else value
            case _:
                pass
        return rebuilt(value, lambda inside: self._half(inside, half))

    def _in_high_half(self) -> dict[str, Expr]:
        """The values that names have in the second of two iterations."""
        names: dict[str, Expr] = {name: Name(high) for name, high in self.highs.items()}
        return names | {self.loop.name: binary("+", Name(self.loop.name), 1)}

    def _half_of_pair(self, pair: Expr, kind: str, half: int) -> Expr:
        """A half as an f32, by a name where the pair has one; of no type, its bits."""
        if not kind:
            return Cast("u16", binary(">>", pair, 16) if half else pair)
        if not isinstance(pair, Name):
            return Apply(_of(f"{_HALVES[half]}_of", kind), (pair,))
        if pair not in self._halves:
            low, high = (Name(self.names.unique(f"{pair.name}_{half}")) for half in _HALVES)
            self._halves[pair] = low, high
            for which, name in zip(_HALVES, (low, high), strict=True):
                self.made.append(Let("f32", name.name, Apply(_of(f"{which}_of", kind), (pair,))))
        return self._halves[pair][half]
