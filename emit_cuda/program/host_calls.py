"""Custom calls that the processor computes for the device, as LAPACK's factorizations.

XLA has cuSOLVER for some of them. Here their operands are copied to the processor, where the
interpreter knows each by its name, and the results back; the device waits meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.program.trees import leaves
from emit_cuda.program.steps import HostCall
from hlo.attributes import CustomCall, ParameterNumber
from hlo.instruction import Computation, Instruction, Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Scope


def host_call(scope: Scope, instr: Instruction, outputs: Sequence[str]) -> HostCall:
    """A step that computes a custom call on the processor.

    Parameters
    ----------
    outputs : pointers to the arrays of the result.
    """
    operands = (leaves(scope.tree(operand), operand.shape) for operand in instr.operands)
    read = (pointer for pointers in operands for pointer in pointers if pointer)
    return HostCall(instr, (*read, *outputs))


def alone(instr: Instruction) -> Module:
    """A module that computes an instruction of its parameters."""
    parameters = tuple(
        Instruction(f"operand.{k}", "parameter", operand.shape, (), ParameterNumber(number=k))
        for k, operand in enumerate(instr.operands)
    )
    root = instr.with_(operands=parameters, control_predecessors=())
    entry = Computation("on_host", (*parameters, root), root)
    name = f"call_of_{CustomCall.of(instr).custom_call_target}"
    return Module(name, (*instr.called, entry), entry)
