"""Reads `negate-start`, `negate-update`, `negate-done`: an instruction that runs asynchronously.

XLA writes `async-start(x), calls=c`, where the computation c has one instruction, as if there were
an opcode for it. Reading makes the computation; printing leaves it out again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hlo.attributes import AsyncStart, ParameterNumber
from hlo.errors.error import HloError
from hlo.instruction import Computation, Instruction
from hlo.opcode import OPCODES
from hlo.read.completion import complete
from hlo.read.syntax import Item, Piece

if TYPE_CHECKING:
    from hlo.errors.error import Span
    from hlo.opcode import Opcode
    from hlo.read.operand_text import OperandText
    from hlo.read.scope import ModuleText, TextScope
    from hlo.read.syntax import InstructionSyntax

_SUFFIXES = ("-start", "-update", "-done")
# Attributes that belong to the async-start; the others are the wrapped instruction's.
_OF_START = {
    "async_execution_thread",
    "output_to_operand_aliasing",
    "metadata",
    "sharding",
    "frontend_attributes",
    "control-predecessors",
    "backend_config",
    "origin",
}
# Opcodes that have aliasing themselves.
_ALIASING = {"custom-call", "fusion"}


class ComputationReader(Protocol):
    """A reader of a computation's instructions, as far as it is needed here."""

    scope: TextScope
    operands: OperandText

    def build(
        self,
        syntax: InstructionSyntax,
        row: Opcode,
        span: Span,
        operands: tuple[Instruction, ...] | None = None,
    ) -> Instruction:
        """Make the instruction that pieces describe."""
        ...


def async_base(opcode: str) -> str | None:
    """`async-start` for `negate-start`, and so on; None if this is no async form of an opcode."""
    for suffix in _SUFFIXES:
        if opcode.endswith(suffix) and opcode.removesuffix(suffix) in OPCODES:
            return "async" + suffix
    return None


def read_async(
    reader: ComputationReader, syntax: InstructionSyntax, base: str, span: Span
) -> Instruction:
    """The async instruction that a sugared form means.

    Raises
    ------
    HloError
        HLO008 if an update or done has not the start that it needs, HLO009 if the shape is missing.
    """
    opcode = syntax.opcode.text
    if syntax.shape is None:
        raise HloError("HLO009", f"{opcode} needs its shape: nothing else says it", span)
    operands = reader.operands.read(syntax.arguments)
    wrapped = opcode.removesuffix(base.removeprefix("async"))
    if base != "async-start":
        _check_start(operands, opcode, wrapped, span)
        return reader.build(syntax, OPCODES[base], span, operands)
    shape = reader.scope.shape(syntax.shape)
    if not shape.is_tuple or len(shape.elements) < 2:
        raise HloError("HLO008", f"{opcode} yields a tuple of operands, result and context", span)
    own, inner = _split(syntax, wrapped)
    result = Piece(shape.elements[1].text, syntax.shape.start)
    hidden = syntax._replace(shape=result, opcode=Piece(wrapped, span.start), attributes=inner)
    body = _wrapping(reader, hidden, operands, span)
    module = reader.scope.module
    module.computations[body.name] = body
    calls = Item(Piece("calls", span.start), Piece(body.name, span.start))
    return reader.build(
        syntax._replace(attributes=[*own, calls]), OPCODES["async-start"], span, operands
    )


def _start(operands: tuple[Instruction, ...]) -> Instruction | None:
    """The async-start to which the operands of an update or done lead."""
    start = operands[0] if operands else None
    while start is not None and start.opcode == "async-update":
        start = start.operands[0] if start.operands else None
    return start if start is not None and start.opcode == "async-start" else None


def _check_start(operands: tuple[Instruction, ...], opcode: str, wrapped: str, span: Span) -> None:
    """Follow an update or done to its start, and see that it starts the same opcode."""
    start = _start(operands)
    if start is None:
        raise HloError("HLO008", f"{opcode} takes an async-start or async-update", span)
    started = start.called[0].root.opcode
    if started != wrapped:
        raise HloError("HLO008", f"{opcode} ends a {started}-start", span)


def check_repeated(
    module: ModuleText, items: list[Item], operands: tuple[Instruction, ...]
) -> None:
    """Compare the attributes that an update or done repeats with its start's.

    Raises
    ------
    HloError
        HLO004 if they contradict each other.
    """
    start = _start(operands)
    if start is None:
        return
    said = {
        "calls": start.called[0].name,
        "async_execution_thread": AsyncStart.of(start).async_execution_thread,
    }
    for key, value in items:
        text = value.text.strip("%\"'")
        if key.text in said and text != said[key.text]:
            message = f"{key.text} is {text} here, but {said[key.text]} at {start.name}"
            raise HloError("HLO004", message, module.reader.span(value))


def _split(syntax: InstructionSyntax, wrapped: str) -> tuple[list[Item], list[Item]]:
    """The attributes of the async-start, and those of the instruction that it wraps."""
    of_start = _OF_START - ({"output_to_operand_aliasing"} if wrapped in _ALIASING else set())
    own = [item for item in syntax.attributes if item.key.text in of_start]
    return own, [item for item in syntax.attributes if item.key.text not in of_start]


def _wrapping(
    reader: ComputationReader,
    hidden: InstructionSyntax,
    operands: tuple[Instruction, ...],
    span: Span,
) -> Computation:
    """The computation that an async-start runs: one instruction, its operands parameters."""
    # Hidden instructions take part in making names unique, under the names that XLA gives them.
    module, row = reader.scope.module, OPCODES[hidden.opcode.text]
    unique = module.instruction_names.unique
    parameters = tuple(
        Instruction(unique("async_param"), "parameter", o.shape, (), ParameterNumber(number=i))
        for i, o in enumerate(operands)
    )
    hidden = hidden._replace(name=unique(row.name))
    root = complete(reader.build(hidden, row, span, parameters))
    name = module.computation_names.unique("async_computation")
    return Computation(name, (*parameters, root), root, span=span)
