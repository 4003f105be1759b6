"""An optimized module at a stage: HLO, buffers, loops, C, assembly, CUDA, graphs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from emit_c.executable.assembly import assembly
from emit_c.program.assigned import assigned
from hlo_tools.drawing.graphs.drawing import drawn
from hlo_tools.drawing.pictures.loops import expect_kernel, loops
from optimizer import optimize
from optimizer.memory.report import report
from optimizer.observers import BUFFERS
from optimizer.pipelines import code_passes, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from emit_c.kernels.passes import KernelPass
    from hlo.instruction import Module

# Stages of the CUDA backend.
OF_CUDA = ("cuda", "ptx", "sass")
# Stages of which a module is emitted.
OF_CODE = ("loops", "c", "asm", *OF_CUDA)
# The GPU for which PTX is made if none is named.
DEFAULT_GPU = "sm_90"
STAGES = ("hlo", "buffers", "loops", "c", "asm", *OF_CUDA, "dot", "svg")


def compiled_text(module: Module, stage: str) -> str:
    """A module, after the standard pipeline, at a stage: for front ends, which do not import this.

    Parameters
    ----------
    stage : one of `STAGES`; or "page", for the page of `hlo view`.

    Raises
    ------
    HloError
        as the passes, the emitters and the pictures do.
    """
    if stage == "page":
        from hlo_tools.drawing.page.page import page_of  # noqa: PLC0415  a page has all stages in it

        return page_of(module)
    target = "gpu" if stage in OF_CUDA else "cpu"
    module = optimize(module, target=target)
    module = code_passes(target).run(module) if stage in OF_CODE else module
    return stage_text(module, stage, target=target)


def stage_text(
    module: Module,
    stage: str,
    *,
    target: str = "cpu",
    plain: bool = False,
    kernel: str | None = None,
    until: str | None = None,
    steps: bool = False,
    prove: bool = False,
    schedule: str | None = None,
    architecture: str | None = None,
    explain_launch: str | None = None,
) -> str:
    """An optimized module at a stage.

    Parameters
    ----------
    stage : one of `STAGES`.
    plain : of C and assembly: scalar loops as one would write them by hand.
    kernel : of loops and assembly: the instruction whose kernel is shown; all are if none is named.
    until, target, steps, prove : of loops, as of `hlo_tools.drawing.pictures.loops`.
    schedule : of loops, C, assembly and CUDA: the schedule of the user's own, as `FILE.py:NAME`
        names it.
    architecture : of CUDA: a GPU such as sm_80.
    explain_launch : of CUDA: the GPU for which the launches' resources are told instead.
    """
    if stage == "hlo":
        return str(module)
    if stage == "buffers":
        assigned_buffers = assigned(module)
        note = f"There is no C, so this is where arrays could lie. {assigned_buffers.without_c}\n"
        return (note if assigned_buffers.without_c else "") + report(assigned_buffers.assignment)
    if stage in ("dot", "svg"):
        return drawn(module, form=stage)
    own = None
    if schedule:
        from hlo_tools.own_schedules import own_schedule  # noqa: PLC0415 - imports emit_c

        own = own_schedule(schedule, kernel)
    if stage in OF_CUDA:
        module = prepare(module, "gpu")
        return _cuda_text(module, stage, architecture, explain_launch, own)
    if stage == "loops":
        return loops(module, kernel, until, target, steps=steps, prove=prove, schedule=own)
    # It takes as long to import as all the rest.
    import emit_c  # noqa: PLC0415

    emitted = emit_c.emit(prepare(module), plain=plain, schedule=own)
    expect_kernel(kernel, emitted.kernels)
    return assembly(emitted, kernel) if stage == "asm" else emitted.source


def code_files(module: Module, target: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """The files of an optimized module's memory and code: the end of a name, and what writes one.

    Those of them that XLA has, too, are named as there.

    Parameters
    ----------
    target : "cpu" or "gpu".
    """
    if target == "cpu":
        assigned_buffers = assigned(module)
        yield BUFFERS, lambda: report(assigned_buffers.assignment)
        if program := assigned_buffers.program:
            yield "c", lambda: program.source
            yield "s", lambda: assembly(program)
    if target == "gpu":
        from emit_cuda import emit, nvrtc  # noqa: PLC0415

        source = cache(lambda: emit(prepare(module, "gpu")).source)
        yield "cu", source
        yield "ptx", lambda: nvrtc.ptx(source(), DEFAULT_GPU)


def _cuda_text(
    module: Module,
    stage: str,
    architecture: str | None,
    explain_launch: str | None,
    schedule: KernelPass | None,
) -> str:
    """The CUDA C of a module, its launches' resources, its PTX or its SASS."""
    from emit_cuda import emit, launches, nvrtc  # noqa: PLC0415
    from optimizer.gpu.device import rates_of  # noqa: PLC0415

    chosen = architecture or DEFAULT_GPU
    most = nvrtc.most_shared(chosen) if architecture else nvrtc.MOST_SHARED_BYTES
    # A schedule of the user's asks a kernel for names only.
    own: Any = schedule and schedule.run
    program = emit(module, most_shared=most, schedule=own)
    if explain_launch:
        return launches.explained(program, rates_of(explain_launch))
    if stage == "ptx":
        return nvrtc.ptx(program.source, chosen)
    if stage == "sass":
        return nvrtc.sass(nvrtc.compile(program.source, chosen).code)
    return program.source
