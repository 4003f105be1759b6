"""The HLO that a kernel computes, for the comment above it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo.write.print import Options, print_instruction

if TYPE_CHECKING:
    from codegen.elements.kernel import Kernel, Scope
    from hlo.instruction import Instruction

# Instructions that a kernel's comment lists at most.
MOST_LINES = 40
_NAME = re.compile(r"%([\w.-]+)")
_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)


def about(kernel: Kernel, instr: Instruction) -> list[str]:
    """The HLO that a kernel computes, a line an instruction.

    What a fusion calls its parameters, the code calls by the names of the operands; so do these.
    """
    is_fusion = instr.opcode == "fusion"
    computed = instr.called[0].instructions if is_fusion else kernel.writer.computed
    others = [i for i in computed if i is not instr and i.opcode != "parameter"][:MOST_LINES]
    inside = others if is_fusion else [*others, instr]
    lines = [print_instruction(i, _SHORT) for i in inside]
    if names := _operands(kernel.scope):
        lines = [_NAME.sub(lambda m: f"%{names.get(m[1], m[1])}", line) for line in lines]
    return [*lines, print_instruction(instr, _SHORT)] if is_fusion else lines


def _operands(scope: Scope) -> dict[str, str]:
    """For the names of parameters of what is fused, those of what they stand for."""
    if scope.outer is None:
        return {}
    outer = _operands(scope.outer)
    return {p.name: outer.get(o.name, o.name) for p, o in scope.arguments.items()}
