"""Changes by which loops become a kernel of CUDA, with their reasons.

Unlike those of C, they are not passes over statements. A kernel is written for its threads at once,
by the writer of its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codegen.printer import text
from emit_cuda.kernels.fourier import fourier_stages
from emit_cuda.kernels.gemm import gemm_stage
from emit_cuda.kernels.loop import loop_stage
from emit_cuda.kernels.matrices import cholesky_stages, solve_stages
from emit_cuda.kernels.radix import KINDS as RADIX
from emit_cuda.kernels.radix import radix_stages
from emit_cuda.kernels.reduction import reduction_stages
from emit_cuda.kernels.rows import row_stage
from emit_cuda.kernels.scan import scan_stages
from emit_cuda.kernels.sorting import sort_stages
from emit_cuda.kernels.spelling import all_in_cuda
from emit_cuda.kernels.stages import ALONE, PARALLEL, Stage, stages
from emit_cuda.kernels.transposing import transpose_stage

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WHY", "all_in_cuda", "launch_text", "writer_of"]

# The changes, in their order, and the purpose of each.
WHY: Final = {
    "map-to-threads": "Iterations of loops become threads of a grid.",
    "spell-in-cuda": "Words that CUDA spells otherwise become its own; the kernel gets its head.",
}
# Who writes kernels of a kind; all others are loops over elements.
_WRITERS: Final[dict[str, Callable[..., Any]]] = {
    "product": gemm_stage,
    "convolution": gemm_stage,
    "product on tensor cores": gemm_stage,
    "convolution on tensor cores": gemm_stage,
    "row reduction": reduction_stages,
    "column reduction": reduction_stages,
    "second stage of a reduction": reduction_stages,
    "running fold": scan_stages,
    "running fold of columns": scan_stages,
    "first stage of a running fold": scan_stages,
    "rows": row_stage,
    "sort": sort_stages,
    "sort of tiles": sort_stages,
    "merge of sorted runs": sort_stages,
    **dict.fromkeys(RADIX, radix_stages),
    "cholesky of a panel": cholesky_stages,
    "update behind a panel": cholesky_stages,
    "triangle": cholesky_stages,
    "triangular solve": solve_stages,
    "transform": fourier_stages,
    "transpose": transpose_stage,
    PARALLEL: stages,
    ALONE: stages,
}


def writer_of(stage: Stage) -> Callable[..., Any]:
    """The function that writes kernels of a launch's kind."""
    return _WRITERS.get(stage.kind, loop_stage)


def launch_text(stage: Stage) -> str:
    """The C of a launch's threads, under its kind, its grid and its block."""
    grid, block = (",".join(map(str, each)) for each in (stage.grid, stage.block))
    shared = "".join(f"  shared {kind} {name}[{size}];\n" for kind, name, size in stage.shared)
    return f"// {stage.kind}: grid ({grid}), block ({block})\n{shared}{text(stage.statements)}"
