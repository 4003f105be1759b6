"""A module becomes one readable file of CUDA C, and the steps that run its kernels.

The file holds, in this order: the module's text as a comment, the device functions that are used,
and the kernels, each under the HLO that it computes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from codegen.program.check import check, check_depth
from codegen.program.head import head
from codegen.program.steps import CollectiveStep, Launch, flat
from emit_cuda.kernels.file import KernelFile
from emit_cuda.libraries import Libraries
from emit_cuda.nvrtc.occupancy import MOST_SHARED_BYTES
from emit_cuda.program.collectives import refuse_others
from emit_cuda.program.control import write_steps
from emit_cuda.program.module import CudaModuleWriter
from emit_cuda.program.random import seed_random_state
from emit_cuda.table import custom_calls, emits_cuda
from hlo.verify import verify_once
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from codegen.program.steps import Step
    from emit_cuda.grids.kernel import Schedule
    from emit_cuda.kernels.file import Written
    from hlo.instruction import Module


# Where no library is to be called.
NONE = Libraries()


@dataclass(frozen=True, slots=True)
class CudaProgram:
    """A module as CUDA C.

    Attributes
    ----------
    source : the file.
    steps : launches, copies and control flow, in order.
    constants : arrays that kernels read.
    arena_bytes : of memory for temporary arrays.
    donated : for numbers of results, the argument whose memory they take.
    keeps_state : kernels change a state of the device, so that their order counts.
    module : whose instructions the steps are about.
    kernels : by name, as data.
    grid : the replicas and partitions that run it together.
    numbers : for the opcodes that ask for the number of a device, the constant that has it.
    """

    source: str
    steps: tuple[Step, ...]
    constants: tuple[NDArray[Any], ...]
    arena_bytes: int
    donated: Mapping[int, int]
    keeps_state: bool
    module: Module
    kernels: Mapping[str, Written]
    grid: tuple[int, int] = (1, 1)
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])

    def __repr__(self) -> str:
        """The number of kernels, and the memory of a call."""
        kernels = counted(len(self.kernels), "kernel")
        return f"<program of {kernels} of CUDA C, {self.arena_bytes:,} bytes of temporaries>"


def emit(
    module: Module,
    kernels: KernelFile | None = None,
    libraries: Libraries | None = None,
    most_shared: int = MOST_SHARED_BYTES,
    grid: tuple[int, int] = (1, 1),
    schedule: Schedule | None = None,
) -> CudaProgram:
    """Write a module as CUDA C, as it is: `optimizer.optimize` or `optimizer.prepare` made it.

    Parameters
    ----------
    module : with the copies that the target needs.
    kernels : those of other modules, to which this one adds its own; a compiler takes less time for
        one file of many kernels.
    libraries : those that are called in the place of kernels, where they are installed.
    most_shared : bytes of shared memory that a block of a new file may ask for.
    grid : the replicas and partitions that run it together.
    schedule : gives other statements for the loops of a kernel that computes element by element.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the module is not well-formed; HLO181 if an instruction can't be
        emitted; HLO101 if it means nothing for its types; HLO115 if computations call each other
        too deeply; HLO171 if copies are missing.
    """
    verify_once(module)
    check_depth(module)
    check(module, emits_cuda, custom_calls, "CUDA")
    refuse_others(module, prod(grid))
    file, called = kernels or KernelFile(None, most_shared), libraries or NONE
    writer = CudaModuleWriter(module, write_steps, file, called, grid, schedule)
    seeds = seed_random_state(writer, module)
    steps = (*seeds, *writer.steps_of(module.entry))
    writer.memory.settle()
    inside = list(flat(steps))
    inside += [
        fold for s in inside if isinstance(s, CollectiveStep) for _, f in s.folds for fold in f
    ]
    file.drop_replaced(step.kernel for step in inside if isinstance(step, Launch))
    arrays = writer.constants.arrays
    return CudaProgram(
        writer.kernels.source(head(module)),
        writer.resolved(steps),
        tuple(arrays.values()),
        writer.arena_bytes,
        writer.memory.donated,
        bool(seeds),
        module,
        writer.kernels.written,
        grid,
        {opcode: list(arrays).index(name) for opcode, name in writer.constants.numbers.items()},
    )
