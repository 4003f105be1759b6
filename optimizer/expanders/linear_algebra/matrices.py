"""The base of linear algebra's expanders: parts of matrices, which are the last two dimensions.

All dimensions in front of them are a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import S32
from optimizer.expanders.parts import counting, full, number, permuted
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


def flipped(x: Instruction) -> Instruction:
    """The transposed matrices."""
    rank = x.shape.rank
    return permuted(x, [*range(rank - 2), rank - 1, rank - 2])


def conjugate(x: Instruction) -> Instruction:
    """Complex conjugates; real numbers as they are."""
    if not x.shape.element_type.is_complex:
        return x
    return make("complex", make("real", x), make("negate", make("imag", x)))


def below_diagonal(x: Instruction) -> Instruction:
    """The matrices with 0 on the diagonal and above it."""
    dims, rank = x.shape.dims, x.shape.rank
    rows, columns = (counting(S32, dims, d) for d in (rank - 2, rank - 1))
    kept = make("compare", rows, columns, direction="GT")
    return make("select", kept, x, full(0, x))


def product(x: Instruction, y: Instruction) -> Instruction:
    """The products of matrices."""
    batch = tuple(range(x.shape.rank - 2))
    return make(
        "dot",
        x,
        y,
        lhs_batch_dims=batch,
        rhs_batch_dims=batch,
        lhs_contracting_dims=(x.shape.rank - 1,),
        rhs_contracting_dims=(y.shape.rank - 2,),
    )


def block(
    x: Instruction,
    row: Instruction | int,
    column: Instruction | int,
    height: int,
    width: int,
) -> Instruction:
    """Part of each matrix, with its first row and column known at run time."""
    sizes = (*x.shape.dims[:-2], height, width)
    return make("dynamic-slice", x, *corner(x, row, column), dynamic_slice_sizes=sizes)


def with_block(
    x: Instruction, part: Instruction, row: Instruction | int, column: Instruction | int
) -> Instruction:
    """The matrices with a block replaced."""
    return make("dynamic-update-slice", x, part, *corner(x, row, column))


def corner(x: Instruction, row: Instruction | int, column: Instruction | int) -> list[Instruction]:
    """The start indices of a part of each matrix."""
    ends = [i if not isinstance(i, int) else number(i) for i in (row, column)]
    return [*[number(0)] * (x.shape.rank - 2), *ends]
