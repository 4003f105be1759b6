"""The device's own generator of random numbers, whose state a program sets before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.kernel import Scope
from codegen.file_text import HloLine
from codegen.program.steps import Launch
from codegen.statements import Call
from emit_cuda.grids.kernel import CudaKernel
from emit_cuda.grids.stages import alone
from emit_cuda.table import emits_cuda

if TYPE_CHECKING:
    from emit_cuda.program.module import CudaModuleWriter
    from hlo.instruction import Module

_ABOUT = (HloLine("", "the state of random numbers at first"),)


def seed_random_state(writer: CudaModuleWriter, module: Module) -> tuple[Launch, ...]:
    """The launch that sets the state; nothing where nobody asks for it."""
    opcode = "rng-get-and-update-state"
    if writer.grid != (1, 1) or not any(i.opcode == opcode for i in module.instructions()):
        return ()
    stage = alone([Call(FUNCTIONS["seed_random_state"], ())])
    kernel = CudaKernel(emits_cuda, writer.constants, Scope())
    name, _ = writer.kernels.add(kernel, "seed", _ABOUT, stage)
    return (Launch(name, stage.grid, stage.block, (), (), "random state"),)
