"""A computation becomes steps: launches of kernels on buffers, loops and branches."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.dead_stores import without_stores
from codegen.elements.kernel import Argument
from codegen.expressions import Cast, Literal, Load, Name, Op
from codegen.kinds import Pointer, is_const
from codegen.loops.narrow_indices import fits_32_bits, in_32_bits
from codegen.program.about import about
from codegen.program.host_calls import host_call
from codegen.program.library_calls import LibraryFft, LibraryGemm, fft_of, gemm_of
from codegen.program.schedule import Schedule
from codegen.program.steps import Copy, Launch, LibraryCall
from codegen.program.trees import leaves
from codegen.statements import Assign
from emit_cuda.grids.gemm import gemm_stages
from emit_cuda.grids.kernel import CudaKernel
from emit_cuda.grids.loop import loop_stages
from emit_cuda.grids.reduction import reduction_stages
from emit_cuda.grids.rows import row_stage
from emit_cuda.grids.stages import CopyStage, Stage, each_thread, stages
from emit_cuda.kernels.writers import KINDS
from emit_cuda.libraries.cublas import WORKSPACE
from emit_cuda.table import emits_cuda, is_on_host
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.fusion.rows import rows_of_all
from optimizer.fusion.together import (
    computed_at_once,
    is_cheap,
    product_with_epilogue,
    reduces_together,
    results_together,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements import kernel as shared
    from codegen.elements.kernel import Scope
    from codegen.file_text import HloLine
    from codegen.program.buffers import Home
    from codegen.program.schedule import Pointers
    from codegen.program.steps import Step
    from codegen.statements import Statement
    from emit_cuda.grids.stages import Launches
    from emit_cuda.program.module import CudaModuleWriter
    from hlo.instruction import Computation, Instruction


class CudaSchedule(Schedule):
    """The steps of one computation in the making."""

    table = emits_cuda

    def __init__(self, module: CudaModuleWriter, computation: Computation) -> None:
        super().__init__(module.memory, module.constants, module.pointers, computation)
        self.module = module

    def finished(self) -> tuple[Step, ...]:
        """All steps, one after the other."""
        self.write()
        return tuple(step for steps in self.steps for step in steps)

    # ------------------------------------------------------- methods of the base class

    def declare(self, name: str, kind: str, home: Home, offset: int = 0, *, const: bool) -> None:  # noqa: ARG002
        """Let a pointer lead into some memory, so many bytes into it."""
        self.module.declared[name] = home, offset

    def copy_step(self, target: str, source: str, size: int) -> Copy:
        """A step that copies some bytes."""
        return Copy(target, source, size)

    def new_kernel(self, scope: Scope) -> CudaKernel:
        """A kernel in the making."""
        repeats, most = self.module.repeats, self.module.kernels.most_shared
        kernel = CudaKernel(self.table, self.constants, scope, repeats=repeats, most_shared=most)
        kernel.schedule = self.module.schedule
        return kernel

    def call_kernel(
        self, kernel: shared.Kernel, instr: Instruction, statements: Sequence[Statement]
    ) -> None:
        """Add the kernels that carry out statements, and launch them."""
        assert isinstance(kernel, CudaKernel)
        names = {a.name for a in kernel.arguments.values()}
        self.launch(kernel, instr, stages(statements, kernel.writer.own_bytes, names))

    def launch(self, kernel: CudaKernel, instr: Instruction, launches: Launches) -> None:
        """Add kernels, and steps that launch them."""
        computed = about(kernel, instr)
        for name, (kind, size) in kernel.rooms.items():
            scratch = self.local(size * ELEMENT_TYPES[kind].bytes, name, kind)
            kernel.arguments[scratch] = Argument(Pointer(kind, restrict=True), name, scratch)
        pointers = {a.name: p for p, a in kernel.arguments.items()}
        staged = [s for stage in launches if isinstance(stage, Stage) for s in stage.statements]
        dead = self.dead_stores(kernel, instr, staged)
        narrow = fits_32_bits([instr, *kernel.writer.computed])
        for stage in launches:
            if isinstance(stage, CopyStage):
                ends = pointers[stage.target], pointers[stage.source]
                self.step(Copy(*ends, stage.size), uses=ends)
                continue
            if dead:
                statements = without_stores(stage.statements, dead)
                stage = replace(stage, statements=tuple(statements))  # noqa: PLW2901
            if stage.own_bytes:
                scratch = self.local(stage.own_bytes, "own_memory")
                kernel.arguments[scratch] = Argument(Pointer("u8"), "own_memory", scratch)
            added = replace(stage, statements=in_32_bits(stage.statements)) if narrow else stage
            launch = self.launched(kernel, instr, added, computed)
            self.step(launch, uses=map(str, launch.arguments))
            if stage.own_bytes:
                del kernel.arguments[scratch]  # pyright: ignore[reportPossiblyUnboundVariable]

    def launched(
        self,
        kernel: CudaKernel,
        instr: Instruction,
        stage: Stage,
        computed: tuple[HloLine, ...] = (),
    ) -> Launch:
        """A launch of a kernel that is added to the file; without a step."""
        computed = computed or about(kernel, instr)
        name, used = self.module.kernels.add(kernel, instr.name, computed, stage)
        details = instr.name, stage.kind, stage.extern_bytes
        return Launch(name, stage.grid, stage.block, *pointed(kernel, used), *details)

    # ----------------------------------------------------------------- libraries

    def compute(self, scope: Scope, instr: Instruction) -> None:
        """Let a library compute an instruction, where it can, or write the kernels of it."""
        if scope is not self.scope or not self._call_library(scope, instr):
            super().compute(scope, instr)

    def _call_library(self, scope: Scope, instr: Instruction) -> bool:
        """Let a library compute an instruction; whether one does."""
        product, transform = gemm_of(instr), fft_of(instr)
        function = product[0] if product else transform
        if function is None or not self.module.libraries.has(function):
            return False
        operands = product[1] if product else instr.operands
        pointers = [str(scope.pointers_of(operand)) for operand in operands]
        target = str(scope.targets[instr])
        if isinstance(function, LibraryGemm):
            pointers += [target, self.local(WORKSPACE, "workspace")]
            writes = (*(False for _ in operands), True, True)
        else:
            if function.kind == "IRFFT":
                # The library uses its operand as room for work.
                size = instr.operands[0].shape.unpacked_bytes
                room = self.local(size, "operand")
                self.step(Copy(room, pointers[0], size), uses=[room])
                pointers = [room]
            pointers, writes = [*pointers, target], (function.kind == "IRFFT", True)
        call = LibraryCall(function, tuple(pointers), writes, instr.name)
        self.step(call, uses=pointers)
        if isinstance(function, LibraryFft) and function.kind in ("IFFT", "IRFFT"):
            self._divide(scope, instr, target, prod(function.lengths))
        scope.values[instr] = scope.targets[instr]
        return True

    def _divide(self, scope: Scope, instr: Instruction, target: str, number: int) -> None:
        """A kernel that divides all elements by a number, which the library leaves to do."""
        kernel = self.new_kernel(scope)
        output = kernel.output(instr.shape, target, instr.name)
        kind = instr.shape.element_type.name
        part = {"c64": "f32", "c128": "f64"}.get(kind, kind)
        count = instr.shape.size * (1 if part == kind else 2)
        element = Load(Cast(Pointer(part), output), Name("thread"))
        scaled = Op("*", (element, Literal(1 / number, part)))
        self.launch(kernel, instr, [each_thread("thread", count, [Assign(element, scaled)])])

    # ------------------------------------------------------------------- kernels

    def write_elements(self, scope: Scope, instr: Instruction, pointers: Pointers) -> None:
        """A kernel of the instruction's kind, or one that computes each element by a thread."""
        kernel = self.new_kernel(scope)
        outputs = kernel.outputs(instr, pointers)
        launches = _of_kind(kernel, instr, outputs) or loop_stages(kernel, [(instr, outputs)])
        self.launch(kernel, instr, _all(launches))

    def write_special(
        self, kernel: shared.Kernel, instr: Instruction, outputs: Sequence[Name]
    ) -> bool:
        """Write a whole array by a kernel of the instruction's kind, if that fits."""
        assert isinstance(kernel, CudaKernel)
        if instr.opcode == "custom-call" and is_on_host(instr):
            pointers = {a.name: p for p, a in kernel.arguments.items()}
            call = host_call(kernel.scope, instr, [pointers[o.name] for o in outputs])
            self.step(call, uses=map(str, call.arguments))
            return True
        launches = _of_kind(kernel, instr, outputs)
        if launches is not None:
            self.launch(kernel, instr, _all(launches))
        return launches is not None

    def write_together(self, inner: Scope, instr: Instruction, target: object) -> bool:
        """One kernel for all results of a fusion, where they have a loop in common."""
        pointers = leaves(target, instr.shape)
        for write in (_rows, _product, _folds, _elements):
            kernel = self.new_kernel(inner)
            launches = write(kernel, instr.called[0], pointers)
            if launches is not None:
                single = write in (_folds, _elements) and instr.shape.is_array
                self.launch(kernel, instr.called[0].root if single else instr, _all(launches))
                return True
        return False


def _of_kind(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> Stage | Launches | None:
    """Launches of the instruction's kind; None where it is a loop."""
    write = KINDS.get(instr.opcode)
    return write(kernel, instr, outputs) if write else None


def _rows(kernel: CudaKernel, called: Computation, pointers: Pointers) -> Stage | None:
    """A launch of a fusion that works row by row."""
    rows = rows_of_all(called)
    if rows is None:
        return None
    results = called.root.operands if called.root.opcode == "tuple" else (called.root,)
    return row_stage(kernel, rows, called, _with_outputs(kernel, results, pointers))


def _product(kernel: CudaKernel, called: Computation, pointers: Pointers) -> Launches | None:
    """Launches of an elementwise function of a product, which is applied before that is stored.

    Elementwise functions of its operands are applied as they are read.
    """
    product = product_with_epilogue(called)
    if product is None:
        return None
    return gemm_stages(kernel, product, kernel.outputs(called.root, pointers), called.root)


def _folds(kernel: CudaKernel, called: Computation, pointers: Pointers) -> Launches | None:
    """Launches of several reduces of the same elements."""
    reduces = reduces_together(called)
    if called.root.opcode == "reduce" and computed_at_once(called):
        reduces = (called.root,)
    if not reduces:
        return None
    outputs = [output for _, output in _with_outputs(kernel, reduces, pointers)]
    return reduction_stages(kernel, reduces[0], outputs, reduces[1:])


def _elements(kernel: CudaKernel, called: Computation, pointers: Pointers) -> Launches | None:
    """A launch whose threads compute an element of each result, if they are of no other kind."""
    results = results_together(called)
    alone = is_cheap(called.root) and called.root.opcode not in KINDS
    if not results and alone and computed_at_once(called):
        results = (called.root,)
    if not results:
        return None
    pairs = _with_outputs(kernel, results, pointers)
    return loop_stages(kernel, [(result, [output]) for result, output in pairs])


def _with_outputs(
    kernel: CudaKernel, results: Sequence[Instruction], pointers: Pointers
) -> list[tuple[Instruction, Name]]:
    """The results of a fusion, with the kernel's pointers to their memory."""
    return [(r, kernel.outputs(r, [p])[0]) for r, p in zip(results, pointers, strict=True)]


def pointed(kernel: shared.Kernel, used: Sequence[str]) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """The arrays of a launch, and those of them that the kernel may write to."""
    return tuple(used), tuple(not is_const(kernel.arguments[p].kind) for p in used)


def _all(stages: Stage | Launches) -> Launches:
    """The launches, of which there may be one."""
    return [stages] if isinstance(stages, Stage) else stages
