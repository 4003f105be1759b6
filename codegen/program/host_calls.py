"""Custom calls that the processor computes for the device, as LAPACK's factorizations.

XLA has cuSOLVER for some of them. Here their operands are copied to the processor, where the
interpreter knows each by its name, and the results back; the device waits meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.program.steps import HostCall
from codegen.program.trees import leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Scope
    from hlo.instruction import Instruction


def host_call(scope: Scope, instr: Instruction, outputs: Sequence[str]) -> HostCall:
    """A step that computes a custom call on the processor.

    Parameters
    ----------
    outputs : pointers to the arrays of the result.
    """
    operands = (leaves(scope.pointers_of(operand), operand.shape) for operand in instr.operands)
    read = (pointer for pointers in operands for pointer in pointers if pointer)
    return HostCall(instr, (*read, *outputs))
