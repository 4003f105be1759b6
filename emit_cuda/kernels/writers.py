"""The table of writers: who writes the kernel of an instruction for the threads of a GPU.

Elementwise kernels, those that read transposed, and reductions are plain loops and a schedule that
binds them (`grids.loop`, `grids.transposing`, `grids.reduction`). All others are other algorithms,
not other orders of a nest: each is written for its threads at once, by the writer of its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codegen.printer import text
from emit_cuda.grids.concatenating import concatenate_stage
from emit_cuda.grids.fourier import fourier_stages
from emit_cuda.grids.gemm import gemm_stages
from emit_cuda.grids.loop import loop_stages
from emit_cuda.grids.matrices import cholesky_stages, solve_stages
from emit_cuda.grids.radix import KINDS as RADIX
from emit_cuda.grids.radix import radix_stages
from emit_cuda.grids.reduction import reduction_stages
from emit_cuda.grids.rows import row_stage
from emit_cuda.grids.scan import scan_stages
from emit_cuda.grids.scattering import scatter_stages
from emit_cuda.grids.sorting import sort_stages
from emit_cuda.grids.stages import ALONE, PARALLEL, Stage, stages
from emit_cuda.grids.topk import topk_stages
from emit_cuda.grids.transposing import transposed_by_tiles
from emit_cuda.kernels.spelling import all_in_cuda

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_cuda.grids.stages import Launches

    # Gives launches, for a kernel, an instruction and its arrays; None where loops are better.
    Write = Callable[..., Stage | Launches | None]

__all__ = ["KINDS", "WHY", "all_in_cuda", "launch_text", "writer_of"]

# The changes, in their order, and the purpose of each.
WHY: Final = {
    "map-to-threads": "Iterations of loops become threads of a grid.",
    "spell-in-cuda": "Words that CUDA spells otherwise become its own; the kernel gets its head.",
}
# Who writes kernels that are faster than loops over elements: for which opcodes, of which kinds.
_WRITERS: Final[Sequence[tuple[Write, Sequence[str], Sequence[str]]]] = (
    (cholesky_stages, ["cholesky"], ["cholesky of a panel", "trailing update", "triangle"]),
    (concatenate_stage, ["concatenate"], ["concatenation"]),
    (fourier_stages, ["fft"], ["transform"]),
    (
        gemm_stages,
        ["convolution"],
        ["convolution", "convolution on tensor cores", "sums of a convolution"],
    ),
    (gemm_stages, ["dot"], ["product", "product on tensor cores", "sums of a product"]),
    (radix_stages, [], RADIX),
    (
        reduction_stages,
        ["reduce"],
        ["row reduction", "column reduction", "second stage of a reduction"],
    ),
    (row_stage, [], ["rows"]),
    (
        scan_stages,
        ["reduce-window"],
        ["running fold", "running fold of columns", "first stage of a running fold"],
    ),
    (scatter_stages, ["scatter"], ["scatter in shared memory"]),
    (solve_stages, ["triangular-solve"], ["triangular solve"]),
    (sort_stages, ["sort"], ["sort", "sort of tiles", "merge of sorted runs"]),
    (stages, [], [PARALLEL, ALONE]),
    (topk_stages, ["topk"], ["top k"]),
)
KINDS: Final[dict[str, Write]] = {
    opcode: write for write, opcodes, _ in _WRITERS for opcode in opcodes
}
_OF_KIND: Final[dict[str, Callable[..., object]]] = {
    "transpose": transposed_by_tiles,
    **{kind: write for write, _, kinds in _WRITERS for kind in kinds},
}


def writer_of(stage: Stage) -> Callable[..., object]:
    """The function that writes or schedules kernels of a launch's kind."""
    return _OF_KIND.get(stage.kind, loop_stages)


def launch_text(stage: Stage) -> str:
    """The C of a launch's threads, under its kind, its grid and its block."""
    grid, block = (",".join(map(str, dims)) for dims in (stage.grid, stage.block))
    shared = "".join(f"  shared {kind} {name}[{size}];\n" for kind, name, size in stage.shared)
    return f"// {stage.kind}: grid ({grid}), block ({block})\n{shared}{text(stage.statements)}"
