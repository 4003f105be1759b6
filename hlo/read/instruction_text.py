"""Builds the instructions of one computation from their syntax; the opcode table says how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes import NO_ATTRS, Attrs
from hlo.attributes.annotations import NO_ANNOTATIONS, Annotations, Metadata
from hlo.errors.error import HloError, Span, did_you_mean
from hlo.instruction import Instruction
from hlo.opcode import OPCODES, Opcode
from hlo.read.async_text import async_base, check_repeated, read_async
from hlo.read.attribute_text import read_attrs, sort_attributes
from hlo.read.called_text import read_called
from hlo.read.completion import complete, with_inferred_shape
from hlo.read.metadata_text import is_seen
from hlo.read.old_names import old_opcode
from hlo.read.operand_text import OperandText
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo.read.scope import TextScope
    from hlo.read.syntax import InstructionSyntax, Item


class InstructionText:
    """Reads one instruction after the other into a scope."""

    def __init__(self, scope: TextScope) -> None:
        self.scope = scope
        self.reader = scope.reader
        self.operands = OperandText(scope, self.instruction)

    def read(self, syntax: Any) -> None:
        """Read an instruction."""
        self.instruction(syntax)

    def with_metadata(self, annotations: Annotations, text: str) -> Annotations:
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
        return self.scope.add(complete(self.incomplete(syntax)), is_root=syntax.is_root)

    def incomplete(self, syntax: InstructionSyntax) -> Instruction:
        """The instruction that pieces describe, under a name that is new, not yet completed."""
        opcode = syntax.opcode.text
        span = self.reader.span(syntax.opcode)
        if syntax.name in self.scope.known:
            raise HloError("HLO004", f"instruction {syntax.name} is defined twice", span)
        if opcode in OPCODES:
            return self.build(syntax, OPCODES[opcode], span)
        if base := async_base(opcode):
            return read_async(self, syntax, base, span)
        raise HloError("HLO007", f"there is no opcode `{opcode}`", span, _opcode_hint(opcode))

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
                row, syntax.attributes, self.reader
            )
            if annotations.metadata is not None:
                annotations = self.with_metadata(annotations, annotations.metadata.text)
            if before is not None:
                control = self.operands.read_names(before)
        if row.arity == 0:
            operands = ()
        elif operands is None:
            operands = self.operands.read(syntax.arguments)
        if row.arity is not None and len(operands) != row.arity:
            raise wrong_arity(row, operands, span)
        if repeated:
            check_repeated(self.scope.module, repeated, operands)
        if row.attrs is not Attrs:
            attrs = read_attrs(row, shape, syntax, own, self.reader)
        if row.called:
            called = read_called(self.scope.module, row, calls, operands, span)
        instr = Instruction(
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
        return with_inferred_shape(instr) if shape is None else instr


def wrong_arity(row: Opcode, operands: tuple[Instruction, ...], span: Span) -> HloError:
    """The error of an opcode that has too many operands, or too few."""
    message = f"{row.name} takes {counted(row.arity or 0, 'operand')}, not {len(operands)}"
    return HloError("HLO008", message, span)


def _opcode_hint(word: str) -> tuple[str, ...]:
    # People write names of functions and other dialects: `exp`, `maximum_f32`, `dot_general`.
    plain = word.replace("_", "-").lower()
    return old_opcode(plain) or did_you_mean(plain, OPCODES)
