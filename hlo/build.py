"""Builders: computations and modules piece by piece, for passes, tests and tracers.

A builder names instructions and infers their shapes:

>>> from hlo.build import Builder
>>> from hlo.types.element_type import F32
>>> from hlo.types.shape import array
>>> b = Builder("double")
>>> x = b.parameter(array(F32, (4,)))
>>> b.add("add", x, x)
%add = f32[4]{0} add(%parameter.0, %parameter.0)
>>> with b:
...     2 * x + b.add("sine", x)
%add.1 = f32[4]{0} add(%multiply, %sine)
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hlo.attributes import attribute_specs
from hlo.attributes.annotations import NO_ANNOTATIONS
from hlo.attributes.kinds import nearest_words, wrong_value
from hlo.errors.error import HloError, did_you_mean
from hlo.infer import infer
from hlo.instruction import Computation, Header, Instruction, Module
from hlo.names import NameSupply
from hlo.opcode import OPCODES
from hlo.operators import BUILDING, Appends
from hlo.types.element_type import PRED
from hlo.types.literal import Literal, literal
from hlo.types.shape import Shape, array, tuple_of
from hlo.types.values import ComputationLayout
from hlo.walk import called_first

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextvars import Token

    from hlo.attributes import AttributeSpec, Attrs
    from hlo.attributes.annotations import Annotations
    from hlo.errors.error import Span

# The shape that opcodes which need none see as their declared one.
_UNDECLARED = tuple_of()


def instruction(
    opcode: str,
    operands: Sequence[Instruction] = (),
    *,
    name: str,
    shape: Shape | None = None,
    called: Sequence[Computation] = (),
    control_predecessors: Sequence[Instruction] = (),
    annotations: Annotations = NO_ANNOTATIONS,
    span: Span | None = None,
    **attrs: Any,
) -> Instruction:
    """One instruction.

    Parameters
    ----------
    shape : of the result; inferred if None. Opcodes whose result does not follow from operands and
        attributes (reshape, convert, iota, ...) need one.
    span : where it came from in a text.
    attrs : fields of the opcode's attribute class.

    Raises
    ------
    HloError
        HLO007 if there is no such opcode, HLO005 if it has no such attribute; and if the shape
        can't be inferred, for the reasons that `hlo.infer.infer` gives.
    """
    if shape is not None:
        _check_shape(shape)
    instr = Instruction(
        name,
        opcode,
        shape or _UNDECLARED,
        tuple(operands),
        _attributes(opcode, attrs),
        tuple(called),
        tuple(control_predecessors),
        annotations,
        span,
    )
    return instr if shape is not None else instr.with_(shape=_inferred(instr))


def _check_shape(shape: object) -> None:
    if not isinstance(shape, Shape):
        message = f"a shape is needed, not {type(shape).__name__} {shape!r}"
        raise TypeError(f"{message}; hlo.types.shape.array(F32, (2, 3)) makes one")


def _inferred(instr: Instruction) -> Shape:
    """The shape that follows from operands and attributes.

    Raises
    ------
    HloError
        HLO025 if it does not follow from them, which shows where another declared shape gives
        another answer; else as `infer`.
    """
    try:
        return infer(instr)
    except HloError as error:
        try:
            infer(instr.with_(shape=array(PRED)))
        except HloError as other:
            if other.message == error.message:
                raise error from None
        message = f"the shape of {instr.opcode} does not follow from its operands"
        raise HloError("HLO025", message, notes=["shape=array(F32, (2, 3)) gives one"]) from None


def _attributes(opcode: str, values: dict[str, Any]) -> Attrs:
    """The attributes of an opcode, from fields by name."""
    row = OPCODES.get(opcode)
    if row is None:
        notes = did_you_mean(str(opcode), OPCODES)
        raise HloError("HLO007", f"there is no opcode `{opcode}`", notes=notes)
    for name, spec in attribute_specs(row.attrs).items():
        if name in values:
            _check(opcode, spec, values[name])
    try:
        return row.attrs(**values)
    except TypeError:
        known = [field.name for field in fields(row.attrs)]
        wrong = [name for name in values if name not in known]
        if wrong:
            message = f"{opcode} has no attribute `{wrong[0]}`"
            notes = did_you_mean(wrong[0], known) or [f"it has: {', '.join(known) or 'none'}"]
            if wrong[0] in (key.rstrip("*") for key in row.called):
                notes = ["called=(computation, ...) gives the computations that it calls"]
        else:
            specs = attribute_specs(row.attrs).values()
            missing = [s.field for s in specs if s.required and s.field not in values]
            message = f"{opcode} needs `{', '.join(missing) or ', '.join(known)}`"
            notes = [f"`hlo ops {opcode}` tells of its attributes"]
        raise HloError("HLO005", message, notes=notes) from None


def _check(opcode: str, spec: AttributeSpec, value: Any) -> None:
    """Refuse a value that an attribute can't have."""
    if wrong := wrong_value(spec, value):
        raise TypeError(f"{spec.key} of {opcode} {wrong}")
    if spec.words and value not in (*spec.words, spec.default):
        raise HloError("HLO002", f"`{value}` is no {spec.key}", notes=nearest_words(spec, value))


def alone(instr: Instruction) -> Computation:
    """A computation of one instruction, whose operands are parameters."""
    parameters = tuple(
        instruction("parameter", name=f"operand.{k}", shape=operand.shape, number=k)
        for k, operand in enumerate(instr.operands)
    )
    root = instr.rewired(parameters, (), instr.called)
    return Computation(instr.name, (*parameters, root), root)


class Builder:
    """Collects the instructions of one computation.

    Parameters
    ----------
    name : of the computation.
    names : where instruction names come from. Names are unique in a module, so builders of one
        module share a supply; `hlo.walk.names_of(module)` makes one for an existing module.
    """

    def __init__(self, name: str = "main", names: NameSupply | None = None) -> None:
        self.name = name
        self.names = names or NameSupply()
        self._instructions: list[Instruction] = []
        self._outer: list[Token[Appends]] = []

    def __enter__(self) -> Self:
        """From now on, operators append to this builder."""
        self._outer.append(BUILDING.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        """Operators append to the builder to which they appended before."""
        BUILDING.reset(self._outer.pop())

    def parameter(self, shape: Shape, name: str | None = None) -> Instruction:
        """The next parameter.

        Raises
        ------
        TypeError
            if the shape is none.
        """
        _check_shape(shape)
        number = sum(1 for i in self._instructions if i.opcode == "parameter")
        return self.add("parameter", shape=shape, number=number, name=name or f"parameter.{number}")

    def constant(self, literal: Literal, name: str | None = None) -> Instruction:
        """A constant.

        Raises
        ------
        TypeError
            if the literal is none.
        """
        if not isinstance(literal, Literal):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"a literal is needed, not {type(literal).__name__} {literal!r}"
            raise TypeError(f"{message}; hlo.types.literal.literal(np.float32(1)) makes one")
        return self.add("constant", literal=literal, name=name)

    def number(self, number: Any, like: Instruction) -> Instruction:
        """A number as an array of the type and the dimensions of another instruction.

        Raises
        ------
        HloError
            HLO025 if the other one is no array.
        """
        shape = like.shape
        if not shape.is_array:
            raise HloError("HLO025", f"{shape} of %{like.name} has no numbers")
        scalar = array(shape.element_type)
        one = self.constant(literal(np.asarray(number).astype(shape.element_type.dtype), scalar))
        return one if not shape.dims else self.add("broadcast", one, shape=shape, dimensions=())

    def add(
        self, opcode: str, *operands: Instruction, name: str | None = None, **rest: Any
    ) -> Instruction:
        """Append an instruction; `rest` is as in `instruction`.

        Raises
        ------
        TypeError
            if an operand is no instruction.
        """
        for operand in operands:
            if not isinstance(operand, Instruction):  # pyright: ignore[reportUnnecessaryIsInstance]
                message = f"an operand of {opcode} is {type(operand).__name__} {operand!r}"
                raise TypeError(f"{message}, not an instruction; constant(literal(...)) makes one")
        instr = instruction(opcode, operands, name=self.names.unique(name or str(opcode)), **rest)
        self._instructions.append(instr)
        return instr

    def build(self, root: Instruction | None = None) -> Computation:
        """The computation; its root is the last instruction if none is given.

        Raises
        ------
        HloError
            HLO052 if the builder has no such instruction, or an operand is of another one.
        """
        root = root or (self._instructions[-1] if self._instructions else None)
        if root is None or root not in self._instructions:
            raise HloError("HLO052", f"{self.name}: the root is not among its instructions")
        own = {id(instr) for instr in self._instructions}
        for instr in self._instructions:
            for operand in instr.operands:
                if id(operand) not in own:
                    message = f"%{operand.name}, an operand of %{instr.name}, is of another builder"
                    raise HloError("HLO052", message)
        return Computation(self.name, tuple(self._instructions), root)


def module(entry: Computation, name: str = "main", header: Header | None = None) -> Module:
    """The module of an entry computation and all that it calls, in order of calls."""
    if header is None:
        layout = ComputationLayout(tuple(p.shape for p in entry.parameters), entry.root.shape)
        header = Header(entry_computation_layout=layout)
    return Module(name, tuple(called_first(entry)), entry, header)
