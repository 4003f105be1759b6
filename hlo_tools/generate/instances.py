"""Random instances of patterns: instructions that a rule's left side may match."""

from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

import hlo_tools.generate.structured  # pyright: ignore[reportUnusedImport]  # noqa: F401  it fills the table
from hlo.build import Builder, instruction, module
from hlo.errors.error import HloError
from hlo.instruction import Computation, Instruction, Module
from hlo.names import NameSupply
from hlo.opcode import EXPLICIT_SHAPE, OPCODES
from hlo.types.element_type import PRED, S32, ElementType
from hlo.types.literal import literal
from hlo.types.shape import Shape, array, tuple_of
from hlo_tools.generate.operands import UnfitError, need, operands_for, scalar_computation
from hlo_tools.generate.random_shapes import TYPES, Dims, random_shape
from hlo_tools.generate.values import ends, far, nasty, scaled
from optimizer.rewriting.application import Application, AttributeVariable, Rest
from optimizer.rewriting.term import ConstantVariable, Exactly, Term, Variable


@dataclass
class Instance:
    """Builds one instance of a pattern, from the root to the operands.

    Attributes
    ----------
    types : element types that operands may have where they do not follow from the result's.
    orders : types that comparisons of floats may have: "" or "TOTALORDER".
    fixed : values of constants that are not random, by variable.
    values : makes random constants: `nasty` or `tame`.
    """

    random: Random
    values: Any = nasty
    types: tuple[ElementType, ...] = TYPES
    orders: tuple[str, ...] = ("",)
    fixed: dict[str, Any] = field(default_factory=dict[str, Any])
    bindings: dict[str, Any] = field(default_factory=dict[str, Any])
    names: NameSupply = field(default_factory=NameSupply)

    def __post_init__(self) -> None:
        self.builder = Builder("main", self.names)

    @cached_property
    def end(self) -> int:
        """The end of the range at which all float constants lie, 1 or -1; 0 for none.

        There, products of constants overflow, or underflow, where one factor after the other does
        not. It is drawn for the first such constant: who tries all choices has none too many.
        """
        return 0 if self.values is nasty else self.random.choice((0, 0, 0, 1, -1))

    def build(self, pattern: Application, shape: Shape) -> Module:
        """A module whose root is an instance of a pattern, of a wanted shape.

        Raises
        ------
        UnfitError
            if there is none, or the random choices have led nowhere.
        """
        try:
            return module(self.builder.build(self.make(pattern, shape)))
        except HloError as error:
            raise UnfitError from error

    def make(self, side: Term, shape: Shape) -> Instruction:
        """An instruction of a shape for a part of the pattern, with all that it needs."""
        if isinstance(side, Variable):
            return self.variable(side, shape)
        if isinstance(side, ConstantVariable):
            return self.constant(side, shape)
        if isinstance(side, Exactly):
            return self.exactly(side, shape)
        assert isinstance(side, Application)
        return self.application(side, shape)

    def variable(self, side: Variable, shape: Shape) -> Instruction:
        """The parameter for a variable."""
        known = self.bindings.get(side.name)
        if known is None:
            known = self.bindings[side.name] = self.builder.parameter(shape, side.name)
        need(known.shape.compatible(shape))
        return known

    def constant(self, side: ConstantVariable, shape: Shape) -> Instruction:
        """The constant for a variable: a splat or an array."""
        known = self.bindings.get(side.name)
        if known is None:
            value = self.fixed.get(side.name)
            if value is None and self.random.random() < 0.3:
                known = self.builder.constant(literal(self.values(shape, self.random)))
            else:
                scalar = array(shape.element_type)
                value = self.likely(scalar) if value is None else value
                known = self.splat(value, shape)
            self.bindings[side.name] = known
        need(known.shape.compatible(shape))
        return known

    def likely(self, scalar: Shape) -> Any:
        """A constant: often a power of two or an end of the range, since rules like those."""
        chance, kind = self.random.random(), scalar.element_type.kind
        if scalar.element_type.real.is_floating and self.end:
            return far(scalar.element_type, self.end, self.random)
        if chance < 0.4 and kind != "pred":
            return self.random.choice((1, 2, 4, 0.5, 8, -1))
        if chance > 0.6:
            return (ends if self.values is nasty else scaled)(scalar, self.random)
        return self.values(scalar, self.random)

    def exactly(self, side: Exactly, shape: Shape) -> Instruction:
        """A number everywhere, as the type can hold it."""
        kind = shape.element_type.kind
        value: Any = side.value
        need(kind != "unsigned" or not value < 0)
        need(kind in ("float", "complex") or (np.isfinite(value) and value == int(value)))
        if value == 0 and isinstance(side.value, int) and kind == "float":
            # A whole 0 in a pattern is either zero.
            value = self.random.choice((0.0, -0.0))
        # Both parts of a complex zero have its sign.
        if value == 0 and kind == "complex":
            value = complex(value, value)
        if self.random.random() < 0.3:
            full = np.full(shape.dims, value).astype(shape.element_type.dtype)
            return self.builder.constant(literal(full))
        return self.splat(value, shape)

    def splat(self, value: Any, shape: Shape) -> Instruction:
        """One number everywhere."""
        with np.errstate(all="ignore"):
            number = np.asarray(value).astype(shape.element_type.dtype)
        scalar = self.builder.constant(literal(number))
        if not shape.dims:
            return scalar
        return self.builder.add("broadcast", scalar, shape=shape, dimensions=())

    def application(self, side: Application, shape: Shape) -> Instruction:
        """An opcode of the pattern with operands and attributes that give the shape."""
        opcode = self.random.choice(side.opcodes)
        rest = isinstance(side.operands[-1], Rest) if side.operands else False
        options_given = {k: v for k, v in self.bound(side.attributes) if v is not None}
        if OPCODES[opcode].arity is None and not rest:
            options_given["operands"] = len(side.operands)
        options_given["types"], options_given["orders"] = self.types_of(side), self.orders
        wanted = operands_for[opcode](self.random, shape, options_given)
        attrs = {
            **wanted.attrs,
            **{k: v for k, v in options_given.items() if k not in ("operands", "types", "orders")},
        }
        for name, value in side.attributes:
            if isinstance(value, AttributeVariable):
                need(self.bindings.setdefault(value.name, attrs[name]) == attrs[name])
        terms = list(side.operands[:-1]) if rest else list(side.operands)
        need(rest or len(terms) == len(wanted.operands))
        terms += [Variable(f"more{i}") for i in range(len(wanted.operands) - len(terms))]
        order = sorted(range(len(terms)), key=lambda i: isinstance(terms[i], Application))
        shapes = [self.settled(t, s) for t, s in zip(terms, wanted.operands, strict=True)]
        terms_made = {i: self.make(terms[i], shapes[i]) for i in order}
        operands = [terms_made[i] for i in range(len(terms))]
        called = self.called(side, wanted.called, operands)
        declared = opcode in EXPLICIT_SHAPE
        new = self.builder.add(
            opcode, *operands, shape=shape if declared else None, called=called, **attrs
        )
        # A declared shape is checked too: inference has its own opinion of it.
        checked = instruction(opcode, operands, name="x", shape=shape, called=called, **attrs)
        need(new.shape.compatible(checked.shape))
        if side.binds:
            self.bindings[side.binds] = new
        return new

    def types_of(self, side: Application) -> tuple[ElementType, ...]:
        """The element types that operands may have: that of a variable which is known already."""
        known = [self.bindings.get(o.name) for o in side.operands if isinstance(o, Variable)]
        return tuple({i.shape.element_type: None for i in known if i}) or self.types

    def settled(self, side: Term, shape: Shape) -> Shape:
        """The wanted shape of an operand, or that of the variable which it is already."""
        known = self.bindings.get(side.name) if isinstance(side, Variable) else None
        return known.shape if known is not None else shape

    def bound(self, attributes: Any) -> Any:
        """The names of attributes, each with its known value; None for an unknown one."""
        for name, value in attributes:
            is_variable = isinstance(value, AttributeVariable)
            yield name, self.bindings.get(value.name) if is_variable else value

    def called(self, side: Application, kinds: tuple[str, ...], operands: Any) -> list[Computation]:
        """The computations of scalars: those that variables stand for already, or new ones."""
        computations: list[Computation] = []
        variables = {position: value.name for position, value in side.called}
        for i, kind in enumerate(kinds):
            new = scalar_computation(kind, operands[0].shape.element_type, self.names)
            name = variables.get(i)
            computations.append(new if name is None else self.bindings.setdefault(name, new))
        return computations


def instance(
    pattern: Application,
    random: Random,
    types: tuple[ElementType, ...] = TYPES,
    dims: Dims | None = None,
    **options: Any,
) -> Module:
    """An instance of a pattern.

    Parameters
    ----------
    types : element types of the result, and of what does not follow from it.
    dims : of the result, where it is an array; None for any.
    """
    shape = random_shape(random, types)
    shape = shape if dims is None else shape.with_dims(dims)
    if set(pattern.opcodes) <= {"compare", "is-finite"}:
        shape = shape.with_type(PRED)
    if pattern.opcodes == ("get-dimension-size",):
        shape = array(S32)
    if pattern.opcodes == ("tuple",):
        shape = tuple_of(*(random_shape(random, types) for _ in range(random.randint(0, 3))))
    return Instance(random, types=types, **options).build(pattern, shape)


def arguments(program: Module, random: Random, values: Any = nasty) -> list[Any]:
    """Random arguments for the entry computation."""
    return [values(p.shape, random) for p in program.entry.parameters]
