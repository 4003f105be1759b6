"""The loop kernel: each thread computes one element, and where results are alike one of each.

A kernel begins as the loops that one would write by hand, and a schedule binds them to blocks and
threads. Where there are enough elements for all threads of a GPU, each thread computes several
neighbours, which it loads and stores at once. Where operands are read transposed, blocks compute
tiles (`transposing`).
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from codegen.elements.results import stored_elements
from codegen.schedule.coalesce import coalesce
from codegen.schedule.trace import attempt
from codegen.statements import For
from emit_cuda.grids.bound import bound_stage, bound_stages, each_by_thread
from emit_cuda.grids.stages import alone
from emit_cuda.grids.transposing import transposed_by_tiles
from emit_cuda.loops.transposed_reads import may_transpose
from emit_cuda.loops.vectors import in_vectors
from optimizer.fusion.policy import TILED

if TYPE_CHECKING:
    from codegen.elements.results import Results
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Launches


def loop_stages(kernel: CudaKernel, results: Results) -> Launches:
    """A launch that computes arrays of equal dimensions; several by a schedule of the user's.

    Parameters
    ----------
    results : instructions, each with the kernel's pointers to the arrays of its value.
    """
    dims, body = results[0][0].shape.first_leaf.dims, kernel.body
    with body.block() as statements, body.loops(["i"] * len(dims), dims, parallel=True) as index:
        body.add(*stored_elements(body, results, index))
    if kernel.schedule is not None:
        scheduled = kernel.schedule(kernel, results[0][0].name, statements)
        return bound_stages(kernel, scheduled)
    if not statements or not isinstance(nest := statements[0], For):
        return [alone(statements)] if statements else []
    roots = [instr for instr, _ in results]
    if prod(dims) >= TILED * TILED and may_transpose(kernel.scope, roots):
        tiles = attempt(partial(transposed_by_tiles, kernel, nest))
        if tiles is not None:
            return [bound_stage(body, tiles, "transpose")]
    read = [*kernel.scope.arguments, *(o for instr in roots for o in instr.operands)]
    depth = sum(n != 1 for n in dims)
    loop, width = in_vectors(kernel, coalesce(nest, depth, "thread"), [*roots, *read])
    kind = "loop" if width == 1 else f"loop of {width}"
    return [bound_stage(body, each_by_thread(body, loop), kind)]
