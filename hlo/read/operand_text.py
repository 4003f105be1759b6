"""Looks operands up in every form: `%a`, `f32[2] %a`, `%a#0`, `negate(f32[2] %a)`, `f32[2]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement, ParameterNumber
from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import Instruction
from hlo.read.syntax import InstructionSyntax

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.read.scope import TextScope
    from hlo.read.syntax import OperandSyntax, Piece
    from hlo.types.shape import Shape


class OperandText:
    """The operands of the instructions of one computation.

    Parameters
    ----------
    scope : where they are looked up.
    read_nested : reads an instruction that is where an operand is expected.
    """

    def __init__(
        self, scope: TextScope, read_nested: Callable[[InstructionSyntax], Instruction]
    ) -> None:
        self.scope = scope
        self.reader = scope.reader
        self.read_nested = read_nested

    def read(self, piece: Piece) -> tuple[Instruction, ...]:
        """The instructions that are in an opcode's parentheses.

        Raises
        ------
        HloError
            HLO010 if an operand is unknown or not of the shape that is written in front of it.
        """
        if not piece.text or piece.text.isspace():
            return ()
        named = [o for o in self.reader.operands(piece) if o.name or self._makes_parameters]
        if not named:
            raise self.reader.error("expects an operand", piece)
        return tuple(map(self._operand, named))

    @property
    def _makes_parameters(self) -> bool:
        """Whether a shape that names nothing is a parameter; XLA skips it elsewhere."""
        return self.scope.parameters_from_operands

    def read_names(self, piece: Piece) -> tuple[Instruction, ...]:
        """The instructions of `{%a, %b}`, of which there is at least one.

        Raises
        ------
        HloError
            HLO001 if these are no names, HLO010 if one is unknown.
        """
        names = self.reader.names(piece)
        if not names:
            raise self.reader.error("expects names in braces", piece)
        for name in names:
            if name.text not in self.scope.known:
                raise self._unknown(name)
        return tuple(self.scope.known[name.text] for name in names)

    def _operand(self, operand: OperandSyntax) -> Instruction:
        """One operand: a name, perhaps with its shape in front, or an instruction in place."""
        shape, name = operand.shape, operand.name
        if name is not None and operand.arguments is not None:
            return self._nested(shape, name, operand.arguments)
        known = self.scope.known.get(name.text) if name else None
        if known is not None:
            named = self._element(known, operand)
            return self.check(named, self.scope.shape(shape), operand.whole) if shape else named
        if shape and self.scope.parameters_from_operands and not operand.elements:
            return self._parameter(self.scope.shape(shape), name, operand.whole)
        raise self._unknown(name or operand.whole)

    def _element(self, instr: Instruction, operand: OperandSyntax) -> Instruction:
        """The tuple element that `%x#0#1` means; `%x` itself where there is no index."""
        for index in operand.elements:
            span = self.reader.span(operand.whole)
            if not instr.shape.is_tuple or index >= len(instr.shape.elements):
                raise HloError("HLO010", f"{instr.name} has no element {index}", span)
            attrs = GetTupleElement(index=index)
            shape = instr.shape.elements[index]
            name = self.scope.fresh(f"{instr.name}_element_{index}")
            element = Instruction(name, "get-tuple-element", shape, (instr,), attrs, span=span)
            instr = self.scope.add(element)
        return instr

    def check(self, instr: Instruction, shape: Shape, piece: Piece) -> Instruction:
        """The instruction, once it may have the shape that is written in front of it."""
        if not _may_be(shape, instr.shape):
            own, said = instr.shape.text_without_layout, shape.text_without_layout
            message = f"operand {instr.name} is {own}, not {said}"
            raise HloError("HLO010", message, self.reader.span(piece))
        return instr

    def _parameter(self, shape: Shape, name: Piece | None, piece: Piece) -> Instruction:
        """The parameter that an operand stands for, where a text is one instruction alone."""
        number = sum(1 for i in self.scope.instructions if i.opcode == "parameter")
        wanted = name.text if name else self.scope.fresh(f"_{number}")
        attrs, span = ParameterNumber(number=number), self.reader.span(piece)
        return self.scope.add(Instruction(wanted, "parameter", shape, (), attrs, span=span))

    def _nested(self, shape: Piece | None, opcode: Piece, arguments: Piece) -> Instruction:
        """An instruction that is where an operand is expected: `add(negate(p), q)`."""
        name = self.scope.fresh(f"{opcode.text}.anon")
        return self.read_nested(InstructionSyntax(name, False, shape, opcode, arguments, ()))

    def _unknown(self, piece: Piece) -> HloError:
        word = piece.text.lstrip("%")
        notes = did_you_mean(word, self.scope.known)
        message = f"there is no instruction `{word[:60]}` before this one"
        return HloError("HLO010", message, self.reader.span(piece), notes)


def _may_be(said: Shape, declared: Shape) -> bool:
    """Whether an operand may be called so; XLA leaves dynamic dimensions to its own shape."""
    return (
        said.dims == declared.dims
        and said.element_type == declared.element_type
        and len(said.elements) == len(declared.elements)
        and all(map(_may_be, said.elements, declared.elements))
    )
