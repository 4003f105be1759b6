"""The C function of a computation in the making: its steps, and the memory that they work on.

What runs in which order is decided in `emit_c.program.schedule`, and for loops and branches in
`emit_c.program.control`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.dead_stores import without_stores
from codegen.elements.kernel import Argument, Scope
from codegen.elements.memory import copied
from codegen.expressions import Name
from codegen.kinds import Pointer
from codegen.program.about import about
from codegen.program.schedule import Schedule
from codegen.statements import Call, Statement, Try
from emit_c.code.names import CNames
from emit_c.kernels.kernel import CKernel
from emit_c.program.call_sites import KernelStep
from emit_c.program.relocatable import Declaration, RelocatableFunction
from emit_c.table import emits_c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements import kernel as elements
    from codegen.program.buffers import Home
    from emit_c.program.buffers import CMemory
    from emit_c.program.call_sites import Step
    from emit_c.program.module import ModuleWriter
    from hlo.instruction import Computation, Instruction

# The parameters of all functions.
HANDED_ON = ("in", "out", "arena", "own")
HANDED_ON_NAMES = tuple(map(Name, HANDED_ON))


class FunctionWriter(Schedule):
    """The C function of one computation in the making.

    Attributes
    ----------
    name : in C.
    declared : the pointers to its arrays.
    """

    table = emits_c
    steps: list[Step]
    memory: CMemory

    def __init__(self, module: ModuleWriter, computation: Computation, name: str) -> None:
        super().__init__(module.memory, module.constants, CNames(), computation)
        self.module, self.name = module, name
        self.declared: dict[str, Declaration] = {}

    # ------------------------------------------------------------------ memory

    def declare(self, name: str, kind: str, home: Home, offset: int = 0, *, const: bool) -> None:
        """Let a pointer to elements of a type lead into some memory, so many bytes into it."""
        self.declared[name] = Declaration(kind, home, offset, const)

    # ------------------------------------------------------------------- steps

    def copy_step(self, target: str, source: str, size: int) -> Statement:
        """A call that copies some bytes."""
        return copied(Name(target), Name(source), size)

    def new_kernel(self, scope: Scope) -> CKernel:
        """A kernel in the making."""
        times = self.module.runs.get(self.computation, 1)
        return CKernel(self.constants, scope, times, flushes=self.module.flushes)

    def call_kernel(
        self, kernel: elements.Kernel, instr: Instruction, statements: Sequence[Statement]
    ) -> None:
        """Add a kernel to the module, and call it."""
        assert isinstance(kernel, CKernel)
        computed = about(kernel, instr)
        statements = without_stores(statements, self.dead_stores(kernel, instr, statements))
        # Pointers are `restrict`: values that share memory have one type, and so one pointer.
        places = [(d.home, d.offset) for d in map(self.declared.get, kernel.arguments) if d]
        assert len(places) == len(set(places)), instr.name
        if kernel.writer.own_bytes:
            kernel.arguments["own"] = Argument(Pointer("u8"), "own", "own")
            self.module.slot_bytes = max(self.module.slot_bytes, kernel.writer.own_bytes)
        function = self.module.kernels.add(kernel, instr.name, computed, statements)
        pointers = tuple(kernel.arguments)
        call = (Try if kernel.writer.has_status else Call)(
            Name(function), tuple(map(Name, pointers))
        )
        self.step(KernelStep(call, instr, tuple(kernel.writer.computed)), uses=pointers)

    def finish(self) -> RelocatableFunction:
        """The function, in which addresses are still missing."""
        return RelocatableFunction(self.name, tuple(self.steps), self.declared)
