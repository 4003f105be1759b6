"""An optimized module at a stage of compilation: HLO, buffers, loops, C, CUDA C, PTX, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emit_c.program.assigned import assigned
from hlo_tools.graphs.drawing import drawn
from hlo_tools.views.loops import expect_kernel, loops
from optimizer import optimize
from optimizer.dynamic_padder.boundary import static_form
from optimizer.layout.row_major_entry import row_major_entry
from optimizer.memory.report import report
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from hlo.instruction import Module

# Stages of the CUDA backend.
OF_CUDA = ("cuda", "ptx", "sass")
STAGES = ("hlo", "buffers", "loops", "c", *OF_CUDA, "dot", "svg")


def compiled_text(module: Module, stage: str) -> str:
    """A module, after the standard pipeline, at a stage: for front ends, which do not import this.

    Parameters
    ----------
    stage : one of `STAGES`.

    Raises
    ------
    HloError
        as the passes, the emitters and the pictures do.
    """
    target = "gpu" if stage in OF_CUDA else "cpu"
    module = row_major_entry(module) if stage in OF_CUDA else module
    return stage_text(optimize(module, target=target), stage, target=target)


def stage_text(
    module: Module,
    stage: str,
    *,
    target: str = "cpu",
    plain: bool = False,
    kernel: str | None = None,
    until: str | None = None,
    steps: bool = False,
    schedule: str | None = None,
    architecture: str | None = None,
    explain_launch: str | None = None,
) -> str:
    """An optimized module at a stage.

    Parameters
    ----------
    stage : one of `STAGES`.
    plain : of C: scalar loops as one would write them by hand.
    kernel, until, target, steps : of loops, as of `hlo_tools.views.loops`.
    schedule : of loops and C: the schedule of the user's own, as `FILE.py:NAME` names it.
    architecture : of CUDA: a GPU such as sm_80.
    explain_launch : of CUDA: the GPU for which the launches' resources are told instead.
    """
    if stage == "hlo":
        return str(module)
    if stage == "buffers":
        found = assigned(module)
        told = f"There is no C, so this is where arrays could lie. {found.without_c}\n"
        return (told if found.without_c else "") + report(found.assignment)
    if stage in ("dot", "svg"):
        return drawn(module, form=stage)
    if stage in OF_CUDA:
        return _cuda_text(prepare(static_form(module), "gpu"), stage, architecture, explain_launch)
    own = None
    if schedule:
        from hlo_tools.own_schedules import own_schedule  # noqa: PLC0415 - imports emit_c

        own = own_schedule(schedule, kernel)
    if stage == "loops":
        return loops(module, kernel, until, target, steps=steps, schedule=own)
    # It takes as long to import as all the rest.
    import emit_c  # noqa: PLC0415

    seen: dict[str, None] = {}

    def watch(kernel: str, *_: object) -> None:
        seen[kernel] = None

    made = emit_c.emit(
        prepare(static_form(module)), watch=watch, plain=plain or own is not None, schedule=own
    )
    expect_kernel(kernel, seen)
    return made.source


def _cuda_text(
    module: Module, stage: str, architecture: str | None, explain_launch: str | None
) -> str:
    """The CUDA C of a module, its launches' resources, its PTX or its SASS."""
    from emit_cuda import emit, launches, nvrtc  # noqa: PLC0415
    from optimizer.gpu.device import rates_of  # noqa: PLC0415

    chosen = architecture or "sm_90"
    most = nvrtc.most_shared(chosen) if architecture else nvrtc.MOST_SHARED_BYTES
    program = emit(module, most_shared=most)
    if explain_launch:
        return launches.explained(program, rates_of(explain_launch))
    if stage == "ptx":
        return nvrtc.ptx(program.source, chosen)
    if stage == "sass":
        return nvrtc.sass(nvrtc.compile(program.source, chosen).code)
    return program.source
