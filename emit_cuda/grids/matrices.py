"""Cholesky factors and triangular systems by blocks of threads, in tiles of 32 x 32.

A factor is found 32 columns at a time (*right-looking*): a launch factors them, another one takes
their products off all columns after them. The launches of all columns run the same two kernels,
which are told by a constant which columns they are at. Of a system, each block solves for 32
columns, row by row of tiles; it reads its earlier solutions back. Smaller matrices are left to a
thread each.

References
----------
LAPACK, `potrf` and `trtrs`; Tomov et al., *Dense Linear Algebra Solvers for Multicore with GPU
Accelerators*, 2010.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import FUNCTIONS
from codegen.expressions import Name, apply, item
from codegen.opcodes.matrices import system_of, typed
from emit_cuda.grids.column_tiles import PITCH
from emit_cuda.grids.stages import SHARED_BLOCK, WARP, each_thread
from hlo import attributes as a
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.literal import Literal as Constant
from hlo.types.shape import array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction

# Rows and columns of a tile, and rows of the least matrix.
TILE, LEAST = WARP, 16


def cholesky_stages(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> Sequence[Stage] | None:
    """Launches that factor each matrix of a batch; None for small ones."""
    *batch, n, _ = instr.shape.dims
    if n < LEAST or 0 in batch:
        return None
    body, kind, count = kernel.body, typed(instr), prod(batch)
    lower, tiles = int(a.Cholesky.of(instr).lower), -(-n // TILE)
    operand = body.pointer(instr.operands[0])
    factor, work = kernel.room(kind, "factor", instr.shape.size), operand
    stages: list[Stage] = []
    if tiles > 1 or not lower:
        work = kernel.room(kind, "work", instr.shape.size)
        with body.block() as statements:
            element = apply(
                FUNCTIONS["lower_element", ELEMENT_TYPES[kind]], operand, Name("thread"), n, lower
            )
            body.assign(item(work, Name("thread")), element)
        stages.append(each_thread("thread", instr.shape.size, statements))
    for panel in range(tiles):
        numbers = np.array([panel], np.int64)
        at = item(body.constant(Constant(array(ELEMENT_TYPES["s64"], (1,)), numbers), "panel"), 0)
        call = "factor_panel", kind, (work, factor, at, n)
        stages.append(_tiled(kernel, *call, (tiles - panel) * count, "cholesky of a panel"))
        if panel < tiles - 1:
            call = "update_trailing", kind, (work, factor, at, n)
            blocks = (tiles - panel - 1) ** 2 * count
            stages.append(_tiled(kernel, *call, blocks, "trailing update"))
    with body.block() as statements:
        body.call(FUNCTIONS["finish_factor", ELEMENT_TYPES[kind]], factor, outputs[0], n, lower)
    return [*stages, kernel.stage(statements, tiles**2 * count, SHARED_BLOCK, "triangle")]


def solve_stages(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> Sequence[Stage] | None:
    """A launch that solves each system of a batch; None for small ones."""
    *batch, rows, columns = instr.shape.dims
    system, kind = system_of(instr), typed(instr)
    if system.n < LEAST or 0 in (rows, columns, *batch):
        return None
    matrix, right = (kernel.body.pointer(o) for o in instr.operands)
    arguments = (
        *(matrix, system.first_a, system.row, system.column),
        *(right, outputs[0], system.first_x, system.down, system.across),
        *(system.n, system.m, int(system.unit_diagonal), int(system.conjugated)),
    )
    blocks = -(-system.m // TILE) * prod(batch)
    return [_tiled(kernel, "solve_columns", kind, arguments, blocks, "triangular solve")]


def _tiled(
    kernel: CudaKernel,
    stem: str,
    kind: str,
    arguments: Sequence[Expr | int],
    blocks: int,
    role: str,
) -> Stage:
    """A launch whose blocks call a function of the prelude with two tiles in shared memory."""
    # All launches of a function are one kernel.
    tiles = ("first_tile", "second_tile")
    with kernel.body.block() as statements:
        kernel.body.call(FUNCTIONS[stem, ELEMENT_TYPES[kind]], *arguments, *map(Name, tiles))
    shared = tuple((kind, name, TILE * PITCH) for name in tiles)
    return kernel.stage(statements, blocks, SHARED_BLOCK, role, shared=shared)
