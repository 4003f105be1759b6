"""The loop kernel: each thread computes one element, and where results are alike one of each.

Where there are enough for all threads of a GPU, each computes several neighbours, which it loads
and stores at once; one thread computes the elements after the last whole group. Where operands are
read transposed, blocks compute tiles (`transposing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.results import stored_elements
from emit_cuda.grids.bound import bound_stages
from emit_cuda.grids.stages import alone, each_thread
from emit_cuda.grids.transposing import transpose_stage
from emit_cuda.loops import vectors
from optimizer.analysis.indexing import delinear

if TYPE_CHECKING:
    from codegen.elements.results import Results
    from codegen.statements import Statement
    from emit_cuda.grids.kernel import GridKernel, Schedule
    from emit_cuda.grids.stages import Launches
    from optimizer.analysis.indexing import Index, Sum


def loop_stages(kernel: GridKernel, results: Results) -> Launches:
    """A launch that computes arrays of equal dimensions; several by a schedule of the user's.

    Parameters
    ----------
    results : instructions, each with the kernel's pointers to the arrays of its value.
    """
    count, name = results[0][0].shape.first_leaf.size, "thread"

    def computed(kernel: GridKernel, index: Index) -> tuple[Statement, ...]:
        return stored_elements(kernel.body, results, index)

    if kernel.schedule is not None:
        return _scheduled(kernel, kernel.schedule, results)
    tiled = transpose_stage(kernel, [i for i, _ in results], computed)
    if tiled is not None:
        return [tiled]
    dims = results[0][0].shape.first_leaf.dims

    def write(number: Sum) -> tuple[Statement, ...]:
        return computed(kernel, delinear(number, dims))

    read = [*kernel.scope.arguments, *(o for instr, _ in results for o in instr.operands)]
    arrays = [*(instr for instr, _ in results), *read]
    threads, statements, width = vectors.in_vectors(kernel, name, count, arrays, write)
    if count == 1:
        return [alone(statements)]
    kind = "loop" if width == 1 else f"loop of {width}"
    return [each_thread(name, threads, statements, kind)]


def _scheduled(kernel: GridKernel, schedule: Schedule, results: Results) -> Launches:
    """The launches that a schedule makes of the loops that one would write by hand."""
    dims = results[0][0].shape.first_leaf.dims
    body = kernel.body
    with body.block() as statements, body.loops(["i"] * len(dims), dims, parallel=True) as index:
        body.add(*stored_elements(body, results, index))
    made = schedule(kernel, results[0][0].name, statements)
    return bound_stages(body, made, {a.name for a in kernel.arguments.values()})
