"""The parts of a module's C file in the making."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.program.kernel_reuse import KernelReuse
from emit_c.code.constants import CConstants
from emit_c.code.names import CNames
from emit_c.kernels.writing import ModuleKernels
from emit_c.program.buffers import CMemory
from optimizer.analysis.runs import runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codegen.statements import Statement
    from emit_c.kernels.passes import KernelPass, Watch
    from emit_c.program.relocatable import RelocatableFunction
    from emit_c.program.units import Units
    from hlo.instruction import Computation, Module


class ModuleWriter:
    """The parts of a C file in the making.

    Parameters
    ----------
    write : writes the C function of a computation, of a name.
    units : the files that compilers are given, which may be cut off before the end.
    watch : is shown what the passes make of each kernel.
    plain, schedule : as of `emit_c.emit`.
    flushes : whether subnormal numbers count as zeros.

    Attributes
    ----------
    functions : the functions of computations, by name.
    written : the names of these functions, by the computation that each runs.
    hlo_names : for each function, the HLO name that each of its identifiers stands for.
    slot_bytes : memory that the neediest kernel takes for each thread.
    prologue : what the entry does first.
    memory : where everything lies.
    runs : how often each computation runs.
    reuse : kernels for what was computed before.
    """

    def __init__(
        self,
        module: Module,
        write: Callable[[ModuleWriter, Computation, str], RelocatableFunction],
        units: Units | None = None,
        watch: Watch | None = None,
        *,
        plain: bool = False,
        schedule: KernelPass | None = None,
        flushes: bool = False,
    ) -> None:
        self.write, self.units, self.flushes = write, units, flushes
        self.memory, header = CMemory(module), module.header
        self.runs = runs(module)
        self.names = CNames()
        self.constants = CConstants(self.names, (header.replica_count, header.num_partitions))
        self.kernels = ModuleKernels(self.names, watch, plain=plain, schedule=schedule)
        self.reuse = KernelReuse()
        self.functions: dict[str, RelocatableFunction] = {}
        self.slot_bytes = 0
        self.prologue: tuple[Statement, ...] = ()
        self.written: dict[Computation, str] = {}
        self.hlo_names: dict[str, Mapping[str, str]] = {}

    def function(self, computation: Computation, role: str, name: str | None = None) -> str:
        """The name of a computation's C function, which is written when it is first needed.

        Parameters
        ----------
        role : what it is to its caller, such as "the body of %while".
        """
        if computation not in self.written:
            own = name or self.names.unique(computation.name, "computation")
            self.written[computation] = own
            about = f"computation {computation.name}, {role}"
            self.functions[own] = replace(self.write(self, computation, own), about=about)
        return self.written[computation]

    def look(self) -> None:
        """Hand finished kernels out to compilers."""
        if self.units:
            kernels, constants = self.kernels, self.constants
            foreign = constants.foreign.called
            self.units.look(kernels.functions, kernels.entries, constants.definitions, foreign)
