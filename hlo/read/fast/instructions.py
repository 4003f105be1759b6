"""Builds instructions from lines that `LINE` matches.

Most lines of a dump have attributes that were on another line before: these, read once, are looked
up by their text. Operands are mostly names, or names with the shape that they have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.errors.error import Span
from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from hlo.read.completion import complete
from hlo.read.fast.lines import LINE_ATTRIBUTE, TYPED_OPERAND, Lines
from hlo.read.fast.usual import MEMO, SHAPES
from hlo.read.instruction_text import InstructionText, wrong_arity
from hlo.read.operand_text import OperandText
from hlo.read.syntax import InstructionSyntax, Item, Piece

if TYPE_CHECKING:
    import re

    from hlo.attributes import Attrs
    from hlo.attributes.annotations import Annotations
    from hlo.read.scope import TextScope

# Attributes and annotations by opcode and the text of the attributes, without metadata. Of opcodes
# without operands, the text in parentheses belongs to them, as does the shape of a constant.
_plain: dict[tuple[str, str, str, str], tuple[Attrs, Annotations]] = {}
# Longer ones, which are literals, are not worth being kept.
_LONGEST = 1_000


class FastInstructions(InstructionText):
    """Reads one line after the other into a scope, and instructions of any other form."""

    def __init__(self, scope: TextScope) -> None:
        super().__init__(scope)
        self.operands = FastOperands(scope, self.instruction)

    def read(self, syntax: Any) -> None:
        """Read an instruction in any form, or some lines of them."""
        if isinstance(syntax, Lines):
            for line in syntax.matches:
                self._line(line)
        else:
            self.instruction(syntax)

    def _line(self, match: re.Match[str]) -> None:
        """Read an instruction in the form in which XLA prints it."""
        root, name, shape_text, opcode, arguments, before, metadata, after = match.groups()
        row = OPCODES.get(opcode)
        inside = f"{shape_text} {arguments}" if row and row.arity == 0 else ""
        plain = _plain.get((opcode, inside, before, after))
        shape = SHAPES.get(shape_text)
        if plain is None or row is None or shape is None or name in self.scope.known:
            self._new_line(match)
            return
        # The same attributes were read before, and no computation is called.
        attrs, annotations = plain
        if metadata is not None:
            annotations = self.with_metadata(annotations, metadata)
        span = Span(self.reader.source, match.start(4), match.end(4))
        operands = () if inside else self.operands.read(Piece(arguments, match.start(5)))
        if row.arity is not None and len(operands) != row.arity:
            raise wrong_arity(row, operands, span)
        instr = Instruction(name, opcode, shape, operands, attrs, (), (), annotations, span)
        self.scope.add(complete(instr), is_root=root is not None)

    def _new_line(self, match: re.Match[str]) -> None:
        """Read a line whose attributes were not read before, and remember them."""
        root, name, shape, opcode, arguments, before, metadata, after = match.groups()
        attributes = [
            Item(Piece(item[1], item.start(1)), Piece(item[2], item.start(2)))
            for group in (6, 8)
            for item in LINE_ATTRIBUTE.finditer(match.string, match.start(group), match.end(group))
        ]
        if metadata is not None:
            start = match.start(7)
            key = Piece("metadata", start - len("metadata={"))
            attributes.append(Item(key, Piece(f"{{{metadata}}}", start - 1)))
        syntax = InstructionSyntax(
            name,
            root is not None,
            Piece(shape, match.start(3)),
            Piece(opcode, match.start(4)),
            Piece(arguments, match.start(5)),
            attributes,
        )
        new = self.incomplete(syntax)
        self.scope.add(complete(new), is_root=syntax.is_root)
        row = new.row
        inside = f"{shape} {arguments}" if row.arity == 0 else ""
        is_plain = row.name == opcode and not row.called and not new.control_predecessors
        if is_plain and len(inside) < _LONGEST:
            if len(_plain) > MEMO:
                _plain.clear()
            _plain[opcode, inside, before, after] = new.attrs, _without_metadata(new.annotations)


class FastOperands(OperandText):
    """Operands whose form is usual: names, all without their shapes or all with them."""

    def read(self, piece: Piece) -> tuple[Instruction, ...]:
        """The instructions that are in an opcode's parentheses."""
        text, known = piece.text, self.scope.known
        if not text or text.isspace():
            return ()
        try:
            return tuple([known[word.strip().removeprefix("%")] for word in text.split(",")])
        except KeyError:
            return self._all_typed(piece) or super().read(piece)

    def _all_typed(self, piece: Piece) -> tuple[Instruction, ...] | None:
        """Operands that all have their shape in front; None if the text has another form."""
        operands: list[Instruction] = []
        at, end = 0, len(piece.text)
        while at < end:
            operand = TYPED_OPERAND.match(piece.text, at)
            instr = self.scope.known.get(operand[2]) if operand else None
            if operand is None or instr is None:
                return None
            if operand[1] != instr.shape.text:
                shape = self.scope.shape(Piece(operand[1], piece.start + operand.start(1)))
                self.check(instr, shape, Piece(operand[0], piece.start + at))
            operands.append(instr)
            at = operand.end()
        return tuple(operands)


def _without_metadata(annotations: Annotations) -> Annotations:
    return replace(annotations, metadata=None) if annotations.metadata else annotations
