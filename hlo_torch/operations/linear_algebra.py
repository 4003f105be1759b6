"""Factorizations and systems: `torch.linalg`, by XLA's opcodes and LAPACK's custom calls.

References
----------
`aten/src/ATen/native/BatchLinearAlgebra.cpp`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import C64, C128, S32, ElementType
from hlo.types.shape import Shape, array, tuple_of
from hlo_torch.operations.contraction import product
from hlo_torch.operations.table import Unsupported, aten, binary, broadcast, converted
from interpreter.custom_calls.lapack import LETTERS
from interpreter.custom_calls.lapack_names import ffi_target
from optimizer.derivative.lapack import exchanged, identity_like
from optimizer.derivative.linear_algebra import adjoint, triangle
from optimizer.derivative.table import element
from optimizer.expanders.ffi_call import ffi_call
from optimizer.expanders.linear_algebra.matrices import flipped
from optimizer.expanders.parts import (
    cut,
    folded,
    number,
    padded,
    spread,
)
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


def _batch(a: Instruction) -> tuple[int, ...]:
    return a.shape.dims[:-2]


def _real(kind: ElementType) -> ElementType:
    return kind.real if kind.is_complex else kind


def _call(
    routine: str, operands: Sequence[Instruction], *shapes: Shape, **options: str | bool
) -> tuple[Instruction, ...]:
    """The results of one of LAPACK's routines.

    Raises
    ------
    Unsupported
        If LAPACK has no such element type.
    """
    kind = operands[0].shape.element_type
    if kind.dtype not in LETTERS:
        raise Unsupported(f"LAPACK has no routine for {kind}")
    target = ffi_target(routine, LETTERS[kind.dtype])
    chosen = {k: ord(v) if isinstance(v, str) else v for k, v in options.items()}
    made = ffi_call(target, operands, tuple_of(*shapes), chosen)
    return tuple(element(made, k) for k in range(len(shapes)))


def _info(a: Instruction) -> Shape:
    return array(S32, _batch(a))


def _common_batch(*matrices: Instruction) -> list[Instruction]:
    """Matrices with the dimensions in front of them broadcast to those of all."""
    rank = max(m.shape.rank for m in matrices)
    rows = [(1,) * (rank - m.shape.rank) + _batch(m) for m in matrices]
    batch = tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*rows, strict=True))
    return [broadcast(m, (*batch, *m.shape.dims[-2:])) for m in matrices]


def _system(
    a: Instruction, b: Instruction, *, lower: bool, left: bool = True, unit: bool = False,
    transposed: str = "NO_TRANSPOSE",
) -> Instruction:  # fmt: skip
    """The solutions of systems with a triangular matrix."""
    a, b = _common_batch(a, b)
    return make(
        *("triangular-solve", a, b),
        left_side=left, lower=lower, unit_diagonal=unit, transpose_a=transposed,
    )  # fmt: skip


# ------------------------------------------------------------------------------------- Cholesky


@aten("linalg_cholesky_ex.default")
def cholesky_ex(
    _out: None, a: Instruction, *, upper: bool = False, check_errors: bool = False
) -> tuple[Instruction, ...]:
    """A triangular factor, and whether a matrix has none."""
    _unchecked(check_errors)
    factor, info = _call("potrf", [a], a.shape, _info(a), uplo="U" if upper else "L")
    return triangle(factor, lower=not upper), info


def _unchecked(check_errors: bool) -> None:
    if check_errors:
        raise Unsupported("an error that depends on values; without check_errors there is none")


@aten("cholesky.default")
def cholesky(_out: Shape, a: Instruction, upper: bool = False) -> Instruction:
    """A triangular factor; NaN where a matrix has none."""
    factor = make("cholesky", a, lower=not upper)
    return triangle(factor, lower=not upper)


@aten("cholesky_solve.default", "_cholesky_solve_helper.default")
def cholesky_solve(
    _out: Shape, b: Instruction, factor: Instruction, upper: bool = False
) -> Instruction:
    """The solutions of systems whose factor is known."""
    first, last = ("ADJOINT", "NO_TRANSPOSE") if upper else ("NO_TRANSPOSE", "ADJOINT")
    half = _system(factor, b, lower=not upper, transposed=first)
    return _system(factor, half, lower=not upper, transposed=last)


@aten("cholesky_inverse.default")
def cholesky_inverse(out: Shape, factor: Instruction, upper: bool = False) -> Instruction:
    """The inverse of a matrix whose factor is known."""
    return cholesky_solve(out, identity_like(factor), factor, upper)


@aten("linalg_solve_triangular.default")
def solve_triangular(
    _out: Shape, a: Instruction, b: Instruction, *, upper: bool, left: bool = True,
    unitriangular: bool = False,
) -> Instruction:  # fmt: skip
    """The solutions of systems with a triangular matrix."""
    return _system(a, b, lower=not upper, left=left, unit=unitriangular)


@aten("triangular_solve.default")
def triangular_solve(
    _out: None, b: Instruction, a: Instruction, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Instruction, ...]:  # fmt: skip
    """The same with its operands exchanged, and the matrix."""
    how = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    found = _system(a, b, lower=not upper, unit=unitriangular, transposed=how)
    return found, _common_batch(a, b)[0]


# -------------------------------------------------------------------------------------------- LU


@aten("linalg_lu_factor_ex.default")
def lu_factor_ex(
    _out: None, a: Instruction, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Instruction, ...]:
    """Both factors in one matrix, the row that each row changed places with, and an info."""
    _unchecked(check_errors)
    if not pivot:
        raise Unsupported("factors without pivots")
    pivots = array(S32, (*_batch(a), min(a.shape.dims[-2:])))
    return _call("getrf", [a], a.shape, pivots, _info(a))


def _factors(both: Instruction) -> tuple[Instruction, Instruction]:
    """The lower factor, with ones on its diagonal, and the upper one."""
    rows, columns = both.shape.dims[-2:]
    least, rank = min(rows, columns), both.shape.rank
    lower = triangle(cut(both, rank - 1, 0, least), lower=True, unit=True)
    return lower + identity_like(lower), triangle(cut(both, rank - 2, 0, least), lower=False)


def _exchanged(x: Instruction, pivots: Instruction) -> Instruction:
    """Matrices whose rows come into the order of the factors."""
    return exchanged(x, pivots) if x.shape.size and pivots.shape.size else x


def _order(both: Instruction, pivots: Instruction) -> Instruction:
    """The matrix of the permutation that does so."""
    rows = both.shape.dims[-2]
    eye = identity_like(splat(0, array(both.shape.element_type, (*_batch(both), rows, rows))))
    return _exchanged(eye, pivots)


@aten("linalg_lu.default")
def lu(_out: None, a: Instruction, *, pivot: bool = True) -> tuple[Instruction, ...]:
    """A permutation and two triangular factors, whose product is the matrix."""
    both, pivots, _ = lu_factor_ex(None, a, pivot=pivot)
    return flipped(_order(both, pivots)), *_factors(both)


@aten("lu_unpack.default")
def lu_unpack(
    _out: None, both: Instruction, pivots: Instruction, data: bool = True, order: bool = True
) -> tuple[Instruction, ...]:
    """The same of factors; a result that is not asked for has no elements."""
    nothing = splat(0, array(both.shape.element_type, (0,)))
    factors = _factors(both) if data else (nothing, nothing)
    return flipped(_order(both, pivots)) if order else nothing, *factors


@aten("linalg_lu_solve.default")
def lu_solve(
    _out: Shape, both: Instruction, pivots: Instruction, b: Instruction, *, left: bool = True,
    **options: bool,
) -> Instruction:  # fmt: skip
    """The solutions of systems whose factors are known."""
    is_adjoint = options.get("adjoint", False)
    if not left:  # X A = B is A^H X^H = B^H
        return adjoint(lu_solve(_out, both, pivots, adjoint(b), adjoint=not is_adjoint))
    both, b = _common_batch(both, b)
    pivots = broadcast(pivots, (*_batch(both), pivots.shape.dims[-1]))
    if is_adjoint:
        half = _system(both, b, lower=False, transposed="ADJOINT")
        whole = _system(both, half, lower=True, unit=True, transposed="ADJOINT")
        return product(flipped(_order(both, pivots)), whole)
    half = _system(both, _exchanged(b, pivots), lower=True, unit=True)
    return _system(both, half, lower=False)


@aten("linalg_inv_ex.default")
def inv_ex(_out: None, a: Instruction, *, check_errors: bool = False) -> tuple[Instruction, ...]:
    """Inverses, and an info."""
    both, pivots, info = lu_factor_ex(None, a, check_errors=check_errors)
    return lu_solve(a.shape, both, pivots, identity_like(a)), info


# -------------------------------------------------------------------------------------------- QR


@aten("geqrf.default")
def geqrf(_out: None, a: Instruction) -> tuple[Instruction, ...]:
    """R, and below it the reflectors whose product is Q; the factor of each."""
    factors = array(a.shape.element_type, (*_batch(a), min(a.shape.dims[-2:])))
    return _call("geqrf", [a], a.shape, factors, _info(a))[:2]


@aten("linalg_householder_product.default", "orgqr.default")
def householder_product(_out: Shape, a: Instruction, factors: Instruction) -> Instruction:
    """The first columns of the product of reflectors."""
    return _call("orgqr", [a, factors], a.shape, _info(a))[0]


@aten("ormqr.default")
def ormqr(
    _out: Shape, a: Instruction, factors: Instruction, other: Instruction, left: bool = True,
    transpose: bool = False,
) -> Instruction:  # fmt: skip
    """A matrix times the product of reflectors."""
    return _call("ormqr", [a, factors, other], other.shape, left=left, transpose=transpose)[0]


@aten("linalg_qr.default")
def qr(_out: None, a: Instruction, mode: str = "reduced") -> tuple[Instruction, ...]:
    """Q with orthogonal columns and R, whose product is the matrix."""
    rows, columns = a.shape.dims[-2:]
    least, rank = min(rows, columns), a.shape.rank
    both, factors = geqrf(None, a)
    height = rows if mode == "complete" else least
    r = triangle(cut(both, rank - 2, 0, height), lower=False)
    if mode == "r":
        return splat(0, array(a.shape.element_type, (0,))), r
    wide = cut(both, rank - 1, 0, least)
    if height > least:
        zero = number(0, a.shape.element_type)
        wide = padded(wide, zero, rank - 1, 0, height - least)
    return householder_product(wide.shape, wide, factors), r


# ------------------------------------------------------------------ eigenvalues, singular values


@aten("_linalg_eigh.default")
def eigh(
    _out: None, a: Instruction, uplo: str = "L", vectors: bool = True
) -> tuple[Instruction, ...]:
    """Eigenvalues, which rise, and eigenvectors."""
    kind = a.shape.element_type
    values = array(_real(kind), a.shape.dims[:-1])
    mode = "V" if vectors else "N"
    found, rising, _ = _call("syevd", [a], a.shape, values, _info(a), mode=mode, uplo=uplo.upper())
    return rising, found if vectors else splat(0, array(kind, (0,)))


@aten("_linalg_svd.default")
def svd(
    _out: None, a: Instruction, full_matrices: bool = False, vectors: bool = True, *,
    driver: str | None = None,
) -> tuple[Instruction, ...]:  # fmt: skip
    """U, falling singular values, and the adjoint of V."""
    if driver is not None:
        raise Unsupported(f"a driver {driver}, which only cuSOLVER has")
    kind, batch = a.shape.element_type, _batch(a)
    rows, columns = a.shape.dims[-2:]
    least = min(rows, columns)
    wide, high = (rows, columns) if full_matrices else (least, least)
    shapes = [
        a.shape, array(_real(kind), (*batch, least)), array(kind, (*batch, rows, wide)),
        array(kind, (*batch, high, columns)), _info(a),
    ]  # fmt: skip
    mode = "N" if not vectors else "A" if full_matrices else "S"
    _, values, u, vh, _ = _call("gesdd", [a], *shapes, mode=mode)
    if not vectors:
        u = vh = splat(0, array(kind, (0,)))
    return u, values, vh


@aten("linalg_eig.default")
def eig(_out: None, a: Instruction) -> tuple[Instruction, ...]:
    """Eigenvalues of any matrices, and their vectors."""
    kind = a.shape.element_type
    wide = kind if kind.is_complex else C64 if kind.bits == 32 else C128
    one, vectors = array(kind, a.shape.dims[:-1]), array(wide, a.shape.dims)
    values = [one] if kind.is_complex else [one, one]
    *found, _, right, _ = _call(
        "geev", [a], *values, vectors, vectors, _info(a), compute_left="N", compute_right="V"
    )
    return found[0] if kind.is_complex else make("complex", *found), right


@aten("_linalg_eigvals.default", "linalg_eigvals.default")
def eigvals(_out: Shape, a: Instruction) -> Instruction:
    """Eigenvalues of any matrices."""
    return eig(None, a)[0]


@aten("linalg_pinv.atol_rtol_tensor")
def pinv(
    _out: Shape, a: Instruction, *, atol: Instruction | None = None,
    rtol: Instruction | None = None, hermitian: bool = False,
) -> Instruction:  # fmt: skip
    """Inverses by singular values that are no smaller than a part of the largest one."""
    real = _real(a.shape.element_type)
    if hermitian:
        values, u = eigh(None, a)
        sizes, vh = make("abs", values), adjoint(u)
    else:
        u, values, vh = svd(None, a)
        sizes = values
    last = sizes.shape.rank - 1
    most = folded(sizes, number(0, real), (last,), binary("maximum", real))
    epsilon = 2.0 ** -(23 if real.bits == 32 else 52) * max(a.shape.dims[-2:])
    absolute = (
        splat(0, most.shape) if atol is None else broadcast(converted(atol, real), most.shape.dims)
    )
    if rtol is None:
        share = splat(epsilon, most.shape)
        if atol is not None:
            share = make("select", absolute > 0, splat(0, most.shape), share)
    else:
        share = broadcast(converted(rtol, real), most.shape.dims)
    limit = make("maximum", absolute, share * most)
    dims = sizes.shape.dims
    kept = sizes > spread(limit, dims, range(last))
    inverse = make("select", kept, splat(1, values.shape) / values, splat(0, values.shape))
    v = adjoint(vh)
    scaled = v * spread(
        converted(inverse, a.shape.element_type), v.shape.dims, (*range(last), last + 1)
    )
    return product(scaled, adjoint(u))
