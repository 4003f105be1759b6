"""The aliasing of values on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.program import buffers
from emit_cuda.program.together import results_together
from emit_cuda.table import emits_cuda
from optimizer.fusion.rows import rows_of_all

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module


class CudaAliasInfo(buffers.EmitterAliasInfo):
    """The rules of aliasing on a GPU."""

    def __init__(self, module: Module) -> None:
        super().__init__(module, emits_cuda)

    def may_share(self, instr: Instruction, operand: int, leaf: int) -> bool:
        """Whether a leaf of the result may be written into an operand as it is read.

        A kernel that goes through rows several times may read elements that it has overwritten.
        """
        if instr.opcode == "fusion" and rows_of_all(instr.called[0]) is not None:
            return False
        return super().may_share(instr, operand, leaf)

    def is_one_kernel(self, computation: Computation) -> bool:
        """Whether one loop computes all results of a fusion."""
        return bool(results_together(computation))
