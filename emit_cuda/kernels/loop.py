"""The loop kernel: each thread computes one element, and where results are alike one of each.

Where there are enough for all threads of a GPU, each computes several neighbours, which it loads
and stores at once; one thread computes the elements after the last whole group. Where operands are
read transposed, blocks compute tiles (`transposing`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from codegen.expressions import item
from codegen.statements import live
from emit_cuda.kernels import vectors
from emit_cuda.kernels.stages import Stage, alone, each_thread
from emit_cuda.kernels.transposing import transpose_stage
from optimizer.analysis.indexing import delinear, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.writer import Values
    from codegen.expressions import Name
    from codegen.statements import Statement
    from emit_cuda.kernels.kernel import CudaKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index, Sum

    Results = Sequence[tuple[Instruction, Sequence[Name]]]


def loop_stage(kernel: CudaKernel, results: Results) -> Stage:
    """A launch that computes arrays of equal dimensions.

    Parameters
    ----------
    results : instructions, each with the kernel's pointers to the arrays of its value.
    """
    count, name = results[0][0].shape.first_leaf.size, "thread"
    tiled = transpose_stage(kernel, [i for i, _ in results], partial(_computed, results))
    if tiled is not None:
        return tiled
    dims = results[0][0].shape.first_leaf.dims

    def write(number: Sum) -> tuple[Statement, ...]:
        return _computed(results, kernel, delinear(number, dims))

    read = [*kernel.scope.arguments, *(o for instr, _ in results for o in instr.operands)]
    arrays = [*(instr for instr, _ in results), *read]
    threads, statements, width = vectors.in_vectors(kernel, name, count, arrays, write)
    if count == 1:
        return alone(statements)
    kind = "loop" if width == 1 else f"loop of {width}"
    return each_thread(name, threads, statements, kind)


def _computed(results: Results, kernel: CudaKernel, index: Index) -> tuple[Statement, ...]:
    """Statements that compute and store one element of each result."""
    body = kernel.body
    with body.block() as statements:
        computed: list[tuple[Instruction, Sequence[Name], Values]] = [
            (instr, pointers, body.elements(instr, index)) for instr, pointers in results
        ]
        for instr, pointers, values in computed:
            shapes = [s for _, s in instr.shape.leaves() if s.is_array]
            for leaf, pointer, value in zip(shapes, pointers, values, strict=True):
                target = item(pointer, linear(index, leaf.dims))
                body.assign(target, body.stored(leaf.element_type, value))
    return live(statements)
