"""The base of linear algebra's expanders: parts of matrices, which are the last two dimensions.

All dimensions in front of them are a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlo.types.element_type import S32
from optimizer.expanders.parts import counting, folded, full, number, permuted, spread
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.expanders.op_expander import ExpansionSite


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
    return make("select", mask_by_place(x, "GT"), x, full(0, x))


def mask_by_place(x: Instruction, direction: str) -> Instruction:
    """A mask of elements by how rows compare to columns: `EQ` is the diagonal, `GT` below it."""
    dims, rank = x.shape.dims, x.shape.rank
    rows, columns = (counting(S32, dims, d) for d in (rank - 2, rank - 1))
    return make("compare", rows, columns, direction=direction)


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


def scaled(site: ExpansionSite, x: Instruction) -> tuple[Instruction, Instruction]:
    """Matrices times powers of two, far from the ends of the type's exponents, and the way back.

    So no digit is lost to numbers that are subnormal, and no sum of large ones overflows.

    Returns
    -------
    tuple of Instruction
        the matrices; the number, one a batch, that gives them back.
    """
    size, rank = make("abs", x), x.shape.rank
    kind = size.shape.element_type
    by = site.binary("maximum", kind)
    largest = folded(size, number(0, kind), [rank - 2, rank - 1], by)
    top = int(np.finfo(kind.dtype).maxexp)
    is_large = make("compare", largest, 2.0 ** (top // 2), direction="GT")
    is_small = make("compare", largest, 2.0 ** -(top // 2), direction="LT")
    down, up, one = (full(2.0**k, largest) for k in (-3 * top // 4, 3 * top // 4, 0))
    factor = make("select", is_large, down, make("select", is_small, up, one))
    back = make("select", is_large, up, make("select", is_small, down, one))
    return times(x, factor), back


def times(x: Instruction, factor: Instruction) -> Instruction:
    """The elements of each batch times a real number of its own."""
    factor = spread(factor, x.shape.dims, range(factor.shape.rank))
    if not x.shape.element_type.is_complex:
        return make("multiply", x, factor)
    return make("complex", *(make("multiply", make(part, x), factor) for part in ("real", "imag")))


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
