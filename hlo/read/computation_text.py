"""Reads a computation, and makes the checks that need all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes import ParameterNumber
from hlo.errors.error import HloError
from hlo.instruction import Computation
from hlo.read.scope import TextScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.read.by_grammar import GrammarReader
    from hlo.read.scope import ModuleText
    from hlo.read.syntax import Piece, SignatureSyntax


def read_computation(
    module: ModuleText,
    name: Piece,
    body: Sequence[Any],
    *,
    thread: str = "main",
    parameters_from_operands: bool = False,
) -> Computation:
    """The computation with a body, all names in it made unique in the module as XLA does.

    Parameters
    ----------
    name : kept as it is: the caller knows whether it must be made unique.
    body : instructions, each as `InstructionSyntax` or in a form of the reader's own.
    parameters_from_operands : operands that are not defined become parameters of their shape.

    Raises
    ------
    HloError
        HLO004 if it is empty, or its parameters are not numbered 0, 1, 2, ...
    """
    scope = TextScope(module, parameters_from_operands=parameters_from_operands)
    instructions = module.instruction_text(scope)
    for syntax in body:
        instructions.read(syntax)
    span = module.reader.span(name)
    if not scope.instructions:
        raise HloError("HLO004", f"computation {name.text} has no instructions", span)
    _check_parameters(scope.instructions)
    renamed = _uniquely_named(module, scope.instructions)
    instructions = tuple([renamed.get(i, i) for i in scope.instructions])
    root = scope.root or scope.instructions[-1]
    return Computation(name.text, instructions, renamed.get(root, root), thread, span)


def _uniquely_named(
    module: ModuleText, instructions: list[Instruction]
) -> dict[Instruction, Instruction]:
    """The instructions in place of those whose names are taken, and of all that use them."""
    renamed: dict[Instruction, Instruction] = {}
    unique_name = module.instruction_names.unique
    for instr in instructions:
        unique = unique_name(instr.name)
        operands, control = instr.operands, instr.control_predecessors
        if renamed and (operands or control):
            operands = tuple([renamed.get(o, o) for o in operands])
            control = tuple([renamed.get(c, c) for c in control])
        if (unique, operands, control) != (instr.name, instr.operands, instr.control_predecessors):
            renamed[instr] = instr.with_(
                name=unique, operands=operands, control_predecessors=control
            )
    return renamed


def _check_parameters(instructions: list[Instruction]) -> None:
    parameters = [i for i in instructions if i.opcode == "parameter"]
    seen: set[int] = set()
    for instr in parameters:
        number = ParameterNumber.of(instr).number
        if number in seen:
            raise HloError("HLO004", f"parameter {number} is defined twice", instr.span)
        seen.add(number)
    missing = next((n for n in range(len(parameters)) if n not in seen), None)
    if missing is not None:
        message = f"parameters are numbered 0, 1, 2, ..., but there is no parameter({missing})"
        raise HloError("HLO004", message, parameters[0].span)


def check_signature(
    signature: SignatureSyntax, computation: Computation, reader: GrammarReader
) -> None:
    """Check that a signature can be read, and that the root has its result shape.

    XLA compares neither names nor shapes of the parameters.

    Raises
    ------
    HloError
        HLO001 if its parameters are not `name: shape, ...`, HLO004 if the root differs.
    """
    for piece in reader.parameters(signature.parameters):
        reader.value("shape", piece)
    span = reader.span(signature.result)
    shape = reader.value("shape", signature.result)
    if not shape.compatible(computation.root.shape):
        root = computation.root.shape.text_without_layout
        message = f"the root is {root}, but the computation says {shape.text_without_layout}"
        raise HloError("HLO004", message, span)
