"""The HLO that a kernel computes, for the comment above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.file_text import HloLine
from hlo.write.print import Options, print_instruction

if TYPE_CHECKING:
    from codegen.elements.kernel import Kernel, Scope
    from hlo.instruction import Instruction

# Instructions that a kernel's comment lists at most.
MOST_LINES = 40
_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)


def about(kernel: Kernel, instr: Instruction) -> tuple[HloLine, ...]:
    """The instructions that a kernel computes.

    What a fusion calls its parameters, the code calls by the names of the operands; so do these.
    """
    is_fusion = instr.opcode == "fusion"
    computed = instr.called[0].instructions if is_fusion else kernel.writer.computed
    others = [i for i in computed if i is not instr and i.opcode != "parameter"][:MOST_LINES]
    inside = others if is_fusion else [*others, instr]
    lines = [hlo_line(_of_arguments(i, kernel.scope)) for i in inside]
    return (*lines, hlo_line(instr)) if is_fusion else tuple(lines)


def hlo_line(instr: Instruction) -> HloLine:
    """An instruction as the comment above a kernel shows it."""
    return HloLine(instr.name, print_instruction(instr, _SHORT))


def _of_arguments(instr: Instruction, scope: Scope) -> Instruction:
    """An instruction of a fusion, whose parameters are replaced by the operands of the fusion."""
    return instr.with_(operands=tuple([_argument(o, scope) for o in instr.operands]))


def _argument(instr: Instruction, scope: Scope) -> Instruction:
    """The operand of the fusion for which a parameter stands; any other instruction itself."""
    if scope.outer is None or instr not in scope.arguments:
        return instr
    return _argument(scope.arguments[instr], scope.outer)
