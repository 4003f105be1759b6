"""Reads operands in every form: `%a`, `f32[2] %a`, `%a#0`, `negate(f32[2] %a)`, `f32[2]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement, Parameter
from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import Instruction
from hlo.read.lexer import NAME, TYPED_OPERAND
from hlo.read.scanner import Piece
from hlo.read.syntax import InstructionSyntax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.read.scope import Scope
    from hlo.types.shape import Shape

_NAMED = re.compile(rf"({NAME})((?:\s*#\s*\d{{1,9}})*)", re.ASCII)
_NAME = re.compile(NAME, re.ASCII)
_INDEX = re.compile(r"\d+", re.ASCII)


class OperandText:
    """The operands of the instructions of one computation.

    Parameters
    ----------
    scope : where they are looked up.
    read_nested : reads an instruction that stands where an operand is expected.
    """

    def __init__(
        self, scope: Scope, read_nested: Callable[[InstructionSyntax], Instruction]
    ) -> None:
        self.scope = scope
        self.scanner = scope.scanner
        self.read_nested = read_nested

    def read(self, piece: Piece) -> tuple[Instruction, ...]:
        """The instructions that stand in an opcode's parentheses.

        Raises
        ------
        HloError
            HLO010 if an operand is unknown or not of the shape that is written in front of it.
        """
        text, known = piece.text, self.scope.known
        if not text or text.isspace():
            return ()
        try:
            # The usual form, `%a, %b`.
            return tuple([known[word.strip().lstrip("%")] for word in text.split(",")])
        except KeyError:
            typed = self._all_typed(piece)
            if typed is not None:
                return typed
            return tuple(map(self._operand, self._pieces(piece)))

    def _pieces(self, piece: Piece) -> Iterator[Piece]:
        """What stands between commas. XLA skips commas too many, and shapes that name nothing."""
        any_found = False
        for word in self.scanner.pieces(piece.start, piece.end):
            is_shape = self.scanner.shape(word.start) == word.end
            if word.text and (not is_shape or self.scope.parameters_from_operands):
                any_found = True
                yield word
        if not any_found:
            raise self.scanner.error("expects an operand", piece.start, piece.end)

    def read_names(self, piece: Piece) -> tuple[Instruction, ...]:
        """The instructions of `%a, %b`, of which there is at least one.

        Raises
        ------
        HloError
            HLO010 if one is unknown.
        """
        names = list(self.scanner.pieces(piece.start, piece.end))
        if not names or not all(_NAME.fullmatch(name.text) for name in names):
            raise self.scanner.error("expects names in braces", piece.start - 1, piece.end + 1)
        found = {name: self.scope.known.get(name.text.lstrip("%")) for name in names}
        for name, instr in found.items():
            if instr is None:
                raise self._unknown(name)
        return tuple(instr for instr in found.values() if instr)

    def _all_typed(self, piece: Piece) -> tuple[Instruction, ...] | None:
        """Operands that all have their shape in front; None if the text has another form."""
        found: list[Instruction] = []
        at, end = piece.start, piece.end
        while at < end:
            operand = TYPED_OPERAND.match(self.scanner.text, at, end)
            instr = self.scope.known.get(operand[2]) if operand else None
            if operand is None or instr is None:
                return None
            if operand[1] != instr.shape.text:
                shape = self.scope.shape(Piece(operand[1], operand.start(1)))
                self._check(instr, shape, Piece(operand[0], at))
            found.append(instr)
            at = operand.end()
        return tuple(found)

    def _operand(self, piece: Piece) -> Instruction:
        """One operand: a name, perhaps with its shape in front, or an instruction in place."""
        named = self._named(piece)
        if named is not None:
            return named
        shape, rest = self._split_shape(piece)
        named = self._named(rest) if rest.text else None
        if named is not None:
            return self._check(named, self.scope.shape(shape), piece) if shape else named
        if shape and self.scope.parameters_from_operands and _NAMED.fullmatch(rest.text or "_"):
            return self._parameter(self.scope.shape(shape), rest, piece)
        if rest.text.endswith(")") and (opcode := _NAME.match(rest.text)):
            return self._nested(shape, Piece(opcode[0], rest.start), rest)
        raise self._unknown(rest if rest.text else piece)

    def _named(self, piece: Piece) -> Instruction | None:
        """The instruction that `%x` names, or the tuple element that `%x#0#1` means."""
        found = _NAMED.fullmatch(piece.text)
        instr = self.scope.known.get(found[1].lstrip("%")) if found else None
        if found is None or instr is None:
            return None
        for index in map(int, _INDEX.findall(found[2])):
            span = self.scanner.span(piece)
            if not instr.shape.is_tuple or index >= len(instr.shape.elements):
                raise HloError("HLO010", f"{instr.name} has no element {index}", span)
            attrs = GetTupleElement(index=index)
            shape = instr.shape.elements[index]
            name = self.scope.fresh(f"{instr.name}_element_{index}")
            made = Instruction(name, "get-tuple-element", shape, (instr,), attrs, span=span)
            instr = self.scope.add(made)
        return instr

    def _split_shape(self, piece: Piece) -> tuple[Piece | None, Piece]:
        """The shape in front of an operand, if there is one, and what follows it."""
        stop = self.scanner.shape(piece.start)
        if stop is None:
            return None, piece
        after = min(self.scanner.skip_space(stop), piece.end)
        return self.scanner.piece(piece.start, stop), self.scanner.piece(after, piece.end)

    def _check(self, instr: Instruction, shape: Shape, piece: Piece) -> Instruction:
        if not _may_be(shape, instr.shape):
            found, said = instr.shape.text_without_layout, shape.text_without_layout
            message = f"operand {instr.name} is {found}, not {said}"
            raise HloError("HLO010", message, self.scanner.span(piece))
        return instr

    def _parameter(self, shape: Shape, name: Piece, piece: Piece) -> Instruction:
        """The parameter that an operand stands for, where a text is one instruction alone."""
        number = sum(1 for i in self.scope.instructions if i.opcode == "parameter")
        wanted = name.text.lstrip("%") or self.scope.fresh(f"_{number}")
        attrs, span = Parameter(number=number), self.scanner.span(piece)
        return self.scope.add(Instruction(wanted, "parameter", shape, (), attrs, span=span))

    def _nested(self, shape: Piece | None, opcode: Piece, piece: Piece) -> Instruction:
        """An instruction that stands where an operand is expected: `add(negate(p), q)`."""
        opened = self.scanner.skip_space(opcode.end)
        if self.scanner.text[opened] != "(" or self.scanner.balanced(opened) != piece.end:
            raise self.scanner.error("expects `opcode(...)` or a name", piece.start, piece.end)
        arguments = self.scanner.piece(opened + 1, piece.end - 1)
        name = self.scope.fresh(f"{opcode.text}.anon")
        return self.read_nested(InstructionSyntax(name, False, shape, opcode, arguments, ()))

    def _unknown(self, piece: Piece) -> HloError:
        word = piece.text.lstrip("%")
        notes = did_you_mean(word, self.scope.known)
        message = f"there is no instruction `{word[:60]}` before this one"
        return HloError("HLO010", message, self.scanner.span(piece), notes)


def _may_be(said: Shape, found: Shape) -> bool:
    """Whether an operand may be called so; XLA leaves dynamic dimensions to its own shape."""
    return (
        said.dims == found.dims
        and said.element_type == found.element_type
        and len(said.elements) == len(found.elements)
        and all(map(_may_be, said.elements, found.elements))
    )
