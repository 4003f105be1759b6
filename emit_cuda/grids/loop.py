"""The loop kernel: each thread computes one element, and where results are alike one of each.

A kernel begins as the loops that one would write by hand, and a schedule binds them to blocks and
threads. Where there are enough elements for all threads of a GPU, each thread computes several
neighbours, which it loads and stores at once. Where operands are read transposed, blocks compute
tiles (`transposing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.results import stored_elements
from codegen.schedule.coalesce import coalesce
from codegen.statements import For, nested
from emit_cuda.grids.bound import bound_stage, bound_stages, each_by_thread
from emit_cuda.grids.stages import alone
from emit_cuda.grids.transposing import transpose_stage
from emit_cuda.loops.vectors import in_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.results import Results
    from codegen.statements import Statement
    from emit_cuda.grids.kernel import GridKernel
    from emit_cuda.grids.stages import Launches
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index


def loop_stages(kernel: GridKernel, results: Results) -> Launches:
    """A launch that computes arrays of equal dimensions; several by a schedule of the user's.

    Parameters
    ----------
    results : instructions, each with the kernel's pointers to the arrays of its value.
    """
    dims, body = results[0][0].shape.first_leaf.dims, kernel.body
    if kernel.schedule is None:

        def computed(kernel: GridKernel, index: Index) -> tuple[Statement, ...]:
            return stored_elements(kernel.body, results, index)

        tiled = transpose_stage(kernel, [i for i, _ in results], computed)
        if tiled is not None:
            return [tiled]
    with body.block() as statements, body.loops(["i"] * len(dims), dims, parallel=True) as index:
        body.add(*stored_elements(body, results, index))
    if kernel.schedule is not None:
        made = kernel.schedule(kernel, results[0][0].name, statements)
        return bound_stages(body, made, {a.name for a in kernel.arguments.values()})
    read = [*kernel.scope.arguments, *(o for instr, _ in results for o in instr.operands)]
    return _by_threads(kernel, statements, [*(instr for instr, _ in results), *read])


def _by_threads(
    kernel: GridKernel, nest: Sequence[Statement], arrays: Sequence[Instruction]
) -> Launches:
    """The launch of a nest, of which each thread does an iteration, or several."""
    if not nest or not isinstance(nest[0], For):
        return [alone(nest)] if nest else []
    depth = sum(isinstance(s, For) and s.parallel for s in nested(nest))
    loop, width = in_vectors(kernel, coalesce(nest[0], depth, "thread"), arrays)
    kind = "loop" if width == 1 else f"loop of {width}"
    return [bound_stage(kernel.body, each_by_thread(kernel.body, loop), kind)]
