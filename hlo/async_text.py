"""Reads `negate-start`, `negate-update`, `negate-done`: an instruction that runs asynchronously.

XLA writes `async-start(x), calls=c`, where the computation c has one instruction, as if there were
an opcode for it. Reading makes the computation; printing leaves it out again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Parameter
from hlo.error import HloError
from hlo.instruction import Computation, Instruction
from hlo.opcode import OPCODES

if TYPE_CHECKING:
    from hlo.error import Span
    from hlo.instruction_text import ComputationText
    from hlo.shape import Shape

_SUFFIXES = ("-start", "-update", "-done")
_OF_START = {"async_execution_thread", "output_to_operand_aliasing"}
_OF_WRAPPER = {
    "metadata",
    "sharding",
    "frontend_attributes",
    "control-predecessors",
    "backend_config",
    "origin",
    "statistics",
}


def async_base(opcode: str) -> str | None:
    """`async-start` for `negate-start`, and so on; None if this is no async form of an opcode."""
    for suffix in _SUFFIXES:
        if opcode.endswith(suffix) and opcode.removesuffix(suffix) in OPCODES:
            return "async" + suffix
    return None


def read_async(
    reader: ComputationText,
    name: str,
    opcode: str,
    base: str,
    shape: Shape | None,
    arguments: tuple[str, int],
    attributes: list[tuple[str, str, int]],
    span: Span,
) -> Instruction:
    """The async instruction that a sugared form means."""
    if shape is None:
        raise HloError("HLO009", f"{opcode} needs its shape: nothing else says it", span)
    operands = reader.operands(*arguments)
    wrapped_opcode = opcode.removesuffix(base.removeprefix("async"))
    if base != "async-start":
        start = operands[0] if operands else None
        while start is not None and start.opcode == "async-update":
            start = start.operands[0]
        if start is None or start.opcode != "async-start":
            raise HloError("HLO008", f"{opcode} takes an async-start or async-update", span)
        if start.called[0].root.opcode != wrapped_opcode:
            message = f"{opcode} ends a {start.called[0].root.opcode}-start"
            raise HloError("HLO008", message, span)
        return reader.build(name, OPCODES[base], shape, arguments, attributes, span, operands)
    if not shape.is_tuple or len(shape.elements) < 2:
        raise HloError("HLO008", f"{opcode} yields a tuple of operands, result and context", span)
    own = [item for item in attributes if item[0] in _OF_START or item[0] in _OF_WRAPPER]
    inner = [item for item in attributes if item not in own]
    row = OPCODES[wrapped_opcode]
    if wrapped_opcode in ("custom-call", "fusion"):
        aliases = [item for item in own if item[0] == "output_to_operand_aliasing"]
        own = [item for item in own if item not in aliases]
        inner += aliases
    # The hidden instructions take part in making names unique, under the names XLA gives them.
    supply = reader.module.instruction_names
    parameters = tuple(
        Instruction(supply.unique("async_param"), "parameter", o.shape, (), Parameter(number=i))
        for i, o in enumerate(operands)
    )
    wrapped = reader.build(
        supply.unique(wrapped_opcode), row, shape.elements[1], ("", 0), inner, span, parameters
    )
    thread = next((t.strip("\"'") for k, t, _ in own if k == "async_execution_thread"), "main")
    wrapped = wrapped.with_(called=tuple(reader.on_thread(c, thread) for c in wrapped.called))
    body = Computation(
        reader.module.computation_names.unique("async_computation"),
        (*parameters, wrapped),
        wrapped,
        thread,
        span,
    )
    reader.module.computations[body.name] = body
    calls = [*own, ("calls", body.name, span.start)]
    return reader.build(name, OPCODES["async-start"], shape, ("", 0), calls, span, operands)
