"""Custom calls of JAX's CPU backend that are no routines of LAPACK."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Cast, Name
from codegen.walk import address_of
from emit_c.custom_calls.lapack import LapackCall, Matrix, batched
from emit_c.custom_calls.table import kernel
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction


def solve_tridiagonal(
    call: LapackCall, lower: Matrix, diagonal: Matrix, upper: Matrix, x: Matrix
) -> tuple[Matrix]:
    """X in T X = B for a tridiagonal T that may be singular: small pivots are moved away from 0."""
    arrays = (a.name for a in (lower, diagonal, upper, x))
    call.body.call(
        FUNCTIONS["solve_tridiagonal", ELEMENT_TYPES[call.kind]],
        *arrays,
        *x.dims,
        work=16 * prod(x.dims),
    )
    return (x,)


kernel("tridiagonal_solve_perturbed_ffi")(batched(solve_tridiagonal, (1, 1, 1, 2)))


@kernel("cpu_csr_sparse_dense_ffi")
def write_sparse_product(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The product of a sparse matrix, in rows one after the other, and a dense one or a vector."""
    values, starts, columns, dense = instr.operands
    rows, width = instr.shape.dims[0], prod(dense.shape.dims[1:])
    numbers, of_columns, factors = (body.pointer(o) for o in (values, columns, dense))
    counts = columns.shape.element_type.name
    work = 4 * width * (1 + values.shape.size // max(rows, 1))
    with body.loops(["row"], [rows], parallel=True) as (row,):
        ends = (Cast("s64", body.element(starts, (number,))) for number in (row, row + 1))
        body.call(
            FUNCTIONS["sparse_row", values.shape.element_type],
            *(address_of(outputs[0], row * width), width, numbers, *ends),
            *(values.shape.size, of_columns, int(counts == "s64")),
            *(factors, dense.shape.dims[0]),
            work=work,
        )
