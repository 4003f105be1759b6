"""Writes the factorizations that XLA's TPU backend calls as instructions and calls with kernels.

custom-call(a), custom_call_target="Cholesky"
  =>   the same of "lapack_spotrf_ffi", with zeros above the diagonal
custom-call(a), custom_call_target="InvertDiagBlocksLowerTriangular"
  =>   the same of "lapack_strsm_ffi", and the identity
custom-call(a), custom_call_target="LuDecomposition"
  =>   the same of "lapack_sgetrf_ffi", pivots from 0, and the order of rows that they make
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.types.element_type import S32
from hlo.types.shape import array, tuple_of
from interpreter.custom_calls.lapack import LETTERS
from interpreter.custom_calls.lapack_names import ffi_target
from optimizer.expanders.custom_call_expander import expansion
from optimizer.expanders.ffi_call import ffi_call
from optimizer.expanders.op_expander import element
from optimizer.expanders.parts import counting, equal, less, spread, to_type
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.expanders.op_expander import ExpansionSite


@expansion("LuDecomposition", "LuRealDecompositionBlock")
def lu(site: ExpansionSite) -> Instruction:
    """LU factors, the row that each row changed places with, and all rows in their new order."""
    a, (factors, pivots, order) = site.instr.operands[0], site.instr.shape.elements
    target = ffi_target("getrf", LETTERS[a.shape.element_type.dtype])
    whole = ffi_call(target, [a], tuple_of(factors, pivots, _info(a.shape)), {})
    # LAPACK counts rows from 1.
    exchanged = make("subtract", element(whole, 1), 1)
    rows = ffi_call("cu_lu_pivots_to_permutation", [exchanged], order, {})
    return make("tuple", element(whole, 0), exchanged, rows)


@expansion("Cholesky")
def cholesky(site: ExpansionSite) -> Instruction:
    """The lower Cholesky factor, with zeros above it; NaN if the matrix has none."""
    a, shape = site.instr.operands[0], site.instr.shape
    target = ffi_target("potrf", LETTERS[shape.element_type.dtype])
    whole = ffi_call(target, [a], tuple_of(shape, _info(shape)), {"uplo": ord("L")})
    batch = range(shape.rank - 2)
    is_factored = spread(equal(element(whole, 1), 0), shape.dims, batch)
    factor = make("select", is_factored, element(whole, 0), splat(float("nan"), shape))
    row, column = _row_and_column(shape)
    return make("select", less(row, column), splat(0, shape), factor)


@expansion("QrDecompositionBlock")
def qr(site: ExpansionSite) -> Instruction:
    """R, below it the reflectors whose product is Q, and the factor of each."""
    return ffi_call("Qr", site.instr.operands, site.instr.shape, {})


@expansion("InvertDiagBlocksLowerTriangular", "InvertDiagBlocksUpperTriangular")
def inverse_of_triangle(site: ExpansionSite) -> Instruction:
    """The inverse of a triangle of each matrix: X in A X = 1."""
    a, (row, column) = site.instr.operands[0], _row_and_column(site.instr.shape)
    identity = to_type(equal(row, column), a.shape.element_type)
    lower = "Lower" in CustomCall.of(site.instr).custom_call_target
    options = {"side": ord("L"), "uplo": ord("L" if lower else "U")}
    options |= {"trans_x": ord("N"), "diag": ord("N")}
    target = ffi_target("trsm", LETTERS[a.shape.element_type.dtype])
    return ffi_call(target, [a, identity], a.shape, options)


def _info(shape: Shape) -> Shape:
    """The shape of LAPACK's status: a number for each matrix."""
    return array(S32, shape.dims[:-2])


def _row_and_column(shape: Shape) -> tuple[Instruction, Instruction]:
    row, column = (counting(S32, shape.dims, axis) for axis in (shape.rank - 2, shape.rank - 1))
    return row, column
