"""Estimates of a program's launches on a GPU: their sizes, their memory, and their least times.

The least time is the *roofline*: a kernel takes as long as its bytes need from memory, or as its
operations need, whichever is longer, and the time of a launch. Bytes are those of the arrays that
it is given, each read or written once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from codegen.program.library_calls import LibraryGemm
from codegen.program.steps import (
    BufferSlice,
    CollectiveStep,
    Copy,
    HostCall,
    Launch,
    LibraryCall,
    flat,
)
from codegen.statements import nested
from emit_cuda import nvrtc
from emit_cuda.grids.accesses import accesses
from emit_cuda.grids.stages import GRID_BARRIER
from emit_cuda.grids.tensor_cores import TYPES
from hlo.attributes import CustomCall
from hlo.wording import counted, numbered
from optimizer.analysis.cost import Cost, cost
from optimizer.gpu.device import A100

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.program.steps import Work
    from codegen.statements import Statement
    from emit_cuda.grids.accesses import Access
    from emit_cuda.nvrtc.compiling import Usage
    from emit_cuda.nvrtc.occupancy import Occupancy
    from emit_cuda.program.emit import CudaProgram
    from optimizer.gpu.device import DeviceRates


@dataclass(frozen=True, slots=True)
class LaunchEstimate:
    """An estimate of a launch or a copy on a GPU.

    Attributes
    ----------
    bytes : of the arrays that it is given, and of the memory of threads; of a slice or an update
        that is one launch, only what it reads and writes.
    cost : of the instruction, in its first launch; of its other launches nothing.
    seconds : the least time.
    bound : the resource that the least time is spent on: "memory", "arithmetic", "launch", or
        "copies" to the processor and back.
    usage, occupancy : of a kernel, where NVRTC is installed.
    accesses, statements : of a kernel.
    """

    step: Work | HostCall
    bytes: int
    cost: Cost
    seconds: float
    bound: str
    usage: Usage | None = None
    occupancy: Occupancy | None = None
    accesses: tuple[Access, ...] = ()
    statements: tuple[Statement, ...] = ()

    @property
    def name(self) -> str:
        """The kernel's name, or the name of the library call or copy."""
        match self.step:
            case Launch(kernel):
                return kernel
            case LibraryCall(function):
                return str(function)
            case HostCall(instr):
                attrs = instr.attrs
                is_call = isinstance(attrs, CustomCall)
                return f"{attrs.custom_call_target if is_call else instr.opcode} on the processor"
            case CollectiveStep(instr):
                return instr.opcode
            case Copy(size=size):
                return f"copy of {size} bytes"


def estimates(program: CudaProgram, device: DeviceRates = A100) -> list[LaunchEstimate]:
    """Estimates of launches and copies; loops count one iteration, conditionals all branches.

    Raises
    ------
    HloError
        HLO190 if NVRTC refuses the file.
    """
    usage: Mapping[str, Usage] = {}
    if not nvrtc.missing():
        usage = nvrtc.compile(program.source, device.architecture).usage
    instructions = {i.name: i for i in program.module.instructions()}
    rows: list[LaunchEstimate] = []
    steps = list(flat(program.steps))
    launches = Counter(step.about for step in steps if isinstance(step, Launch | LibraryCall))
    for step in steps:
        if isinstance(step, Copy):
            rows.append(LaunchEstimate(step, 2 * step.size, *device.roofline(2 * step.size)))
            continue
        moved = sum(p.size for p in dict.fromkeys(step.arguments) if isinstance(p, BufferSlice))
        if isinstance(step, HostCall):
            rows.append(LaunchEstimate(step, moved, Cost(), moved / device.copies, "copies"))
            continue
        if isinstance(step, CollectiveStep):
            rows.append(LaunchEstimate(step, moved, *device.roofline(moved)))
            continue
        instr = instructions.pop(step.about, None)
        spent = cost(instr) if instr else Cost()
        if instr and launches[step.about] == 1:
            moved = min(moved, spent.bytes_accessed)
        row = LaunchEstimate(
            step, moved, *device.roofline(moved, spent, _rate(device, program, step))
        )
        if isinstance(step, Launch):
            needs, written = usage.get(step.kernel), program.kernels[step.kernel]
            of = prod(step.block), step.shared_bytes, device.architecture
            full = nvrtc.occupancy(needs, *of) if needs else None
            reads = accesses(written.stage, written.statements, written.arguments)
            row = replace(row, usage=needs, occupancy=full, accesses=tuple(reads))
            row = replace(row, statements=written.statements)
        rows.append(row)
    return rows


def _rate(device: DeviceRates, program: CudaProgram, step: Launch | LibraryCall) -> float:
    """The operations a second: tensor cores do more, and of s8 twice as many as of bf16."""
    if isinstance(step, LibraryCall):
        narrow = isinstance(step.function, LibraryGemm) and step.function.operands in TYPES
        return device.matrix if narrow else device.flops
    stage = program.kernels[step.kernel].stage
    if not stage.on_tensor_cores:
        return device.flops
    return device.matrix * (2 if any(kind == "s8" for kind, _, _ in stage.shared) else 1)


def explained(program: CudaProgram, device: DeviceRates = A100) -> str:
    """A paragraph for each launch: its size, its memory, its accesses and its least time."""
    rows = estimates(program, device)
    lines = [line for row in rows for line in (*_lines(row, device), "")]
    total, moved = sum(row.seconds for row in rows), sum(row.bytes for row in rows)
    steps = counted(len(rows), "step")
    least = f"at least {total * 1e6:.1f} us on {device.name}"
    return "\n".join([*lines, f"{steps}, {moved:,} bytes, {least}"])


def _lines(row: LaunchEstimate, device: DeviceRates) -> Iterator[str]:
    step = row.step
    least = f"at least {row.seconds * 1e6:.2f} us, bound by {row.bound}"
    if not isinstance(step, Launch):
        yield f"{row.name}: {least}"
        return
    grid, block = ("x".join(str(n) for n in _short(dims)) for dims in (step.grid, step.block))
    blocks, threads = prod(step.grid), prod(step.block)
    launched = f"{grid} {numbered(blocks, 'block')} of {block} {numbered(threads, 'thread')}"
    yield f"{step.kernel} ({step.kind}, %{step.about}): {launched}"
    if row.usage and row.occupancy:
        full, shared = row.occupancy, row.usage.shared_bytes + step.shared_bytes
        waves = -(-blocks // (full.blocks * device.multiprocessors))
        yield (
            f"  {row.usage.registers} registers a thread, {shared} bytes of shared "
            f"memory a block: {full.blocks} blocks on a multiprocessor, {full.share:.0%} of its "
            f"warps, limited by {' and '.join(full.limits)}; {counted(waves, 'wave')}"
        )
    barriers = sum(statement == GRID_BARRIER for statement in nested(row.statements))
    if barriers:
        yield f"  {counted(barriers, 'barrier')} of the grid, in a loop in each iteration"
    yield from (f"  {access}" for access in row.accesses)
    yield f"  {row.bytes:,} bytes, {row.cost.flops:,} operations: {least}"


def _short(dims: tuple[int, int, int]) -> Sequence[int]:
    """The sizes without ones at the end."""
    return dims[: max((k + 1 for k in range(3) if dims[k] > 1), default=1)]
