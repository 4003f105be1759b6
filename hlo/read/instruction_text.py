"""Reads the instructions of one computation, in any form that XLA accepts.

Most instructions of a dump are in `LINES` tokens, in the form in which XLA prints them; of those,
the ones whose attributes were read before take a short cut. All others are built from the pieces
that the grammar found: the opcode table says what they mean.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import NO_ATTRS, Attrs
from hlo.attributes.annotations import NO_ANNOTATIONS, Annotations, Metadata
from hlo.errors.error import HloError, Span, did_you_mean
from hlo.instruction import Instruction
from hlo.opcode import OPCODES, Opcode
from hlo.read.async_text import async_base, check_repeated, read_async
from hlo.read.attribute_text import read_attrs, sort_attributes
from hlo.read.called_text import read_called
from hlo.read.completion import complete, with_inferred_shape
from hlo.read.lexer import LINE_ATTRIBUTE, LinesToken
from hlo.read.metadata_text import is_seen
from hlo.read.operand_text import OperandText
from hlo.read.scanner import Item, Piece
from hlo.read.scope import MEMO, SHAPES, Scope
from hlo.read.syntax import InstructionSyntax

if TYPE_CHECKING:
    import re

# Attributes and annotations by opcode and the text of the attributes, without metadata. Of opcodes
# without operands, what stands in the parentheses belongs to them, as does the shape of a constant.
_plain: dict[tuple[str, str, str, str], tuple[Attrs, Annotations]] = {}
# Longer ones, which are literals, are not worth being kept.
_LONGEST = 1_000


class InstructionText:
    """Reads one instruction after the other into a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.scanner = scope.scanner
        self.operands = OperandText(scope, self.instruction)

    def read(self, syntax: LinesToken | InstructionSyntax) -> None:
        """Read an instruction in any form, or some lines of them."""
        if isinstance(syntax, LinesToken):
            for line in syntax.matches:
                self._line(line)
        else:
            self.instruction(syntax)

    def _line(self, found: re.Match[str]) -> None:
        """Read an instruction in the form in which XLA prints it."""
        root, name, shape_text, opcode, arguments, before, metadata, after = found.groups()
        row = OPCODES.get(opcode)
        inside = f"{shape_text} {arguments}" if row and row.arity == 0 else ""
        plain = _plain.get((opcode, inside, before, after))
        shape = SHAPES.get(shape_text)
        if plain is None or row is None or shape is None or name in self.scope.known:
            self._new_line(found)
            return
        # The same attributes were read before, and no computation is called.
        attrs, annotations = plain
        if metadata is not None:
            annotations = self._with_metadata(annotations, metadata)
        span = Span(self.scanner.source, found.start(4), found.end(4))
        operands = () if inside else self.operands.read(Piece(arguments, found.start(5)))
        if row.arity is not None and len(operands) != row.arity:
            raise _wrong_arity(row, operands, span)
        made = Instruction(name, opcode, shape, operands, attrs, (), (), annotations, span)
        self.scope.add(complete(made), is_root=root is not None)

    def _new_line(self, found: re.Match[str]) -> None:
        """Read a line whose attributes were not read before, and remember them."""
        root, name, shape, opcode, arguments, before, metadata, after = found.groups()
        attributes = [
            Item(Piece(item[1], item.start(1)), Piece(item[2], item.start(2)))
            for group in (6, 8)
            for item in LINE_ATTRIBUTE.finditer(found.string, found.start(group), found.end(group))
        ]
        if metadata is not None:
            start = found.start(7)
            key = Piece("metadata", start - len("metadata={"))
            attributes.append(Item(key, Piece(f"{{{metadata}}}", start - 1)))
        syntax = InstructionSyntax(
            name,
            root is not None,
            Piece(shape, found.start(3)),
            Piece(opcode, found.start(4)),
            Piece(arguments, found.start(5)),
            attributes,
        )
        made = self._made(syntax)
        self.scope.add(complete(made), is_root=syntax.is_root)
        row = made.row
        inside = f"{shape} {arguments}" if row.arity == 0 else ""
        is_plain = row.name == opcode and not row.called and not made.control_predecessors
        if is_plain and len(inside) < _LONGEST:
            if len(_plain) > MEMO:
                _plain.clear()
            _plain[opcode, inside, before, after] = made.attrs, _without_metadata(made.annotations)

    def _with_metadata(self, annotations: Annotations, text: str) -> Annotations:
        """Annotations with some metadata, its stack frame numbered as in the module's tables."""
        text = self.scope.module.frames.renumber(text)
        return Annotations(
            annotations.sharding,
            annotations.frontend_attributes,
            annotations.statistics,
            Metadata(text) if is_seen(text) else None,
            annotations.backend_config,
            annotations.origin,
        )

    def instruction(self, syntax: InstructionSyntax) -> Instruction:
        """Read an instruction from its pieces."""
        return self.scope.add(complete(self._made(syntax)), is_root=syntax.is_root)

    def _made(self, syntax: InstructionSyntax) -> Instruction:
        opcode = syntax.opcode.text
        span = self.scanner.span(syntax.opcode)
        if syntax.name in self.scope.known:
            raise HloError("HLO004", f"instruction {syntax.name} is defined twice", span)
        if opcode in OPCODES:
            return self.build(syntax, OPCODES[opcode], span)
        if base := async_base(opcode):
            return read_async(self, syntax, base, span)
        raise HloError("HLO007", f"there is no opcode `{opcode}`", span, _opcode_hint(opcode))

    def _control_predecessors(self, listed: Piece) -> tuple[Instruction, ...]:
        """The instructions of `{%a, %b}`, of which there is at least one."""
        if listed.text[:1] != "{":
            raise self.scanner.error("expects names in braces", listed.start, listed.end)
        return self.operands.read_names(Piece(listed.text[1:-1], listed.start + 1))

    def build(
        self,
        syntax: InstructionSyntax,
        row: Opcode,
        span: Span,
        operands: tuple[Instruction, ...] | None = None,
    ) -> Instruction:
        """The instruction that pieces describe, not yet completed.

        Parameters
        ----------
        row : the opcode, which for a sugared async form is not the one that is written.
        operands : if they are read already; then the arguments are not looked at.

        Raises
        ------
        HloError
            HLO008 if there are too few operands or too many.
        """
        shape = self.scope.shape(syntax.shape) if syntax.shape else None
        attrs, called, control, annotations = NO_ATTRS, (), (), NO_ANNOTATIONS
        own: list[Item] = []
        calls: list[Item] = []
        repeated: list[Item] = []
        if syntax.attributes:
            own, calls, before, annotations, repeated = sort_attributes(
                row, syntax.attributes, self.scanner
            )
            if annotations.metadata is not None:
                annotations = self._with_metadata(annotations, annotations.metadata.text)
            if before is not None:
                control = self._control_predecessors(before)
        if row.arity == 0:
            operands = ()
        elif operands is None:
            operands = self.operands.read(syntax.arguments)
        if row.arity is not None and len(operands) != row.arity:
            raise _wrong_arity(row, operands, span)
        if repeated:
            check_repeated(self.scope.module, repeated, operands)
        if row.attrs is not Attrs:
            attrs = read_attrs(row, shape, syntax, own, self.scanner)
        if row.called:
            called = read_called(self.scope.module, row, calls, operands, span)
        made = Instruction(
            syntax.name,
            row.name,
            shape,  # type: ignore[arg-type]  # inferred below where the text has none
            operands,
            attrs,
            called,
            control,
            annotations,
            span,
        )
        return with_inferred_shape(made) if shape is None else made


def _without_metadata(annotations: Annotations) -> Annotations:
    return replace(annotations, metadata=None) if annotations.metadata else annotations


def _wrong_arity(row: Opcode, operands: tuple[Instruction, ...], span: Span) -> HloError:
    plural = "" if row.arity == 1 else "s"
    message = f"{row.name} takes {row.arity} operand{plural}, not {len(operands)}"
    return HloError("HLO008", message, span)


def _opcode_hint(word: str) -> tuple[str, ...]:
    # People write names of functions and other dialects: `exp`, `maximum_f32`, `dot_general`.
    return did_you_mean(word.replace("_", "-").lower(), OPCODES)
