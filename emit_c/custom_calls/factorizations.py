"""Custom calls for linear algebra: JAX's `lapack_*_ffi`, and TensorFlow's Qr and Eigh.

Each function is the twin of the one of its name in `interpreter.custom_calls.factorizations`, and
calls the same routine with the same arguments.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.expressions import (
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    apply,
    binary,
    item,
    letter,
)
from codegen.kinds import Pointer
from emit_c.custom_calls.lapack import LapackCall, Letter, Matrix, batched
from emit_c.custom_calls.table import kernel
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.custom_calls.lapack_names import SIGNATURES, ffi_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from emit_c.custom_calls.lapack import Routine
    from hlo.instruction import Instruction

Results = tuple["Matrix | Expr", ...]

# The function that computes each routine, and the ranks of its arrays.
ROUTINES: dict[str, tuple[Routine, tuple[int, ...]]] = {}


def lapack_call(*names: str) -> Callable[[Routine], Routine]:
    """Register a routine as custom calls.

    Parameters
    ----------
    names : as of `ffi_targets`; the first is a row of `SIGNATURES`.
    """

    def register(routine: Routine) -> Routine:
        for name in names:
            ROUTINES[name] = routine, SIGNATURES[names[0]].ranks
            kernel(*ffi_targets(name))(batched(*ROUTINES[name]))
        return routine

    return register


def _parts(call: LapackCall, a: Matrix) -> tuple[Expr, int]:
    """The real numbers of a matrix, one after the other, and their count."""
    return Cast(Pointer(call.real), a.name), prod(a.dims) * (1 if a.kind == call.real else 2)


def _nothing(call: LapackCall, a: Matrix) -> Name:
    """The number 0; NaN if an element is NaN or infinite."""
    parts, count = _parts(call, a)
    sum_ = apply(FUNCTIONS["sum_of_zeros", ELEMENT_TYPES[call.real]], parts, count)
    return call.body.variable(call.real, "sum_of_zeros", sum_, work=count)


def _add_nothing(call: LapackCall, nothing: Name, *to: Matrix) -> None:
    """Add it to all elements."""
    for matrix in to:
        call.body.call(
            FUNCTIONS["add_to_each", ELEMENT_TYPES[call.real]], *_parts(call, matrix), nothing
        )


@lapack_call("potrf")
def potrf(call: LapackCall, a: Matrix) -> Results:
    """Cholesky factor in one triangle, the other left as it was; info."""
    return a, call.lapack("potrf", call.option("uplo"), a.dims[0], a, a.leading)


@lapack_call("getrf")
def getrf(call: LapackCall, a: Matrix) -> Results:
    """LU factors in one matrix; the row, from 1, that each row was exchanged with; info."""
    pivots = call.array("pivots", [min(a.dims)], "s32")
    return a, pivots, call.lapack("getrf", *a.dims, a, a.leading, pivots)


@lapack_call("trsm")
def trsm(call: LapackCall, a: Matrix, b: Matrix) -> Results:
    """X in op(A) X = B, or in X op(A) = B, where A is triangular."""
    how = [call.option(key) for key in ("side", "uplo", "trans_x", "diag")]
    one = call.array("one", [1])
    call.body.assign(item(one.name, 0), 1)
    call.blas("trsm", *how, *b.dims, one, a, a.leading, b, b.leading)
    return (b,)


@lapack_call("geqrf")
def geqrf(call: LapackCall, a: Matrix) -> Results:
    """R, and below it the reflectors whose product is Q; the factor of each; info, which is 0."""
    tau = call.array("tau", [min(a.dims)])
    return a, tau, call.lapack("geqrf", *a.dims, a, a.leading, tau)


@lapack_call("geqp3")
def geqp3(call: LapackCall, a: Matrix, pivots: Matrix) -> Results:
    """As geqrf, for A with its columns sorted so that R's diagonal falls; the columns, from 1."""
    tau = call.array("tau", [min(a.dims)])
    call.lapack("geqp3", *a.dims, a, a.leading, pivots, tau)
    return a, pivots, tau


@lapack_call("orgqr", "ungqr")
def orgqr(call: LapackCall, a: Matrix, tau: Matrix) -> Results:
    """The first columns of Q, from the reflectors that geqrf leaves; info, which is 0."""
    name = "orgqr" if call.letter in "sd" else "ungqr"
    return a, call.lapack(name, *a.dims, tau.dims[0], a, a.leading, tau)


@lapack_call("ormqr", "unmqr")
def ormqr(call: LapackCall, a: Matrix, tau: Matrix, c: Matrix) -> Results:
    """Q C, C Q, or either with the adjoint of Q, from the reflectors that geqrf leaves."""
    name, adjoint = ("ormqr", "T") if call.letter in "sd" else ("unmqr", "C")
    side = Letter(letter("L" if call.options.get("left") else "R"))
    operation = Letter(letter(adjoint if call.options.get("transpose") else "N"))
    call.lapack(name, side, operation, *c.dims, tau.dims[0], a, a.leading, tau, c, c.leading)
    return (c,)


@lapack_call("syevd", "heevd")
def syevd(call: LapackCall, a: Matrix) -> Results:
    """Eigenvectors as columns; eigenvalues, which rise; info."""
    return _eigenvectors(call, a)


def _eigenvectors(call: LapackCall, a: Matrix) -> tuple[Matrix, Matrix, Name]:
    name = "syevd" if call.letter in "sd" else "heevd"
    values = call.array("values", [a.dims[0]], call.real)
    how = [call.option(key) for key in ("mode", "uplo")]
    return a, values, call.lapack(name, *how, a.dims[0], a, a.leading, values)


@lapack_call("gesdd", "gesvd")
def gesdd(call: LapackCall, a: Matrix) -> Results:
    """The rest of A, falling singular values, U and V^H as requested, and info."""
    _add_nothing(call, _nothing(call, a), a)
    m, n = a.dims
    values = call.array("values", [min(m, n)], call.real)
    # Whether all vectors are requested, or the first, is known from the result's shape.
    columns, rows = (call.instr.shape.elements[k].dims[-1 - k % 2] for k in (2, 3))
    u, vh = call.array("u", [m, columns]), call.array("vh", [rows, n])
    vectors = (u, u.leading, vh, vh.leading)
    some = "A" if (columns, rows) == (m, n) else "S"
    none = binary("==", Group(call.option("mode").value), letter("N"))
    job = Letter(Choose(none, letter("N"), letter(some)))
    info = call.lapack("gesdd", job, m, n, a, a.leading, values, *vectors)
    return a, values, u, vh, info


@lapack_call("geev")
def geev(call: LapackCall, a: Matrix) -> Results:
    """Eigenvalues, for real types their real and imaginary parts; left, right vectors; info."""
    n = a.dims[0]
    jobs = [call.option(key) for key in ("compute_left", "compute_right")]
    left, right = call.array("left", [n, n]), call.array("right", [n, n])
    values = _eigenvalues(call, n)
    vectors = (left, left.leading, right, right.leading)
    info = call.lapack("geev", *jobs, n, a, a.leading, *values, *vectors)
    if call.letter in "sd":
        left, right = (_complex_vectors(call, v, values[1]) for v in (left, right))
    return *values, left, right, info


def _eigenvalues(call: LapackCall, n: int) -> list[Matrix]:
    """The outputs for eigenvalues: complex ones, or real and imaginary parts."""
    names = ["real_parts", "imaginary_parts"] if call.letter in "sd" else ["values"]
    return [call.array(name, [n]) for name in names]


def _complex_vectors(call: LapackCall, packed: Matrix, imaginary: Matrix) -> Matrix:
    """Vectors of a real matrix: two real columns hold the parts of a pair of conjugate ones."""
    kind = "c64" if call.letter == "s" else "c128"
    vectors = call.array("vectors", packed.dims, kind)
    function = FUNCTIONS["conjugate_pairs", ELEMENT_TYPES[kind]]
    call.body.call(function, packed.name, imaginary.name, vectors.name, packed.dims[0])
    return vectors


@lapack_call("gees")
def gees(call: LapackCall, a: Matrix) -> Results:
    """Schur form; Schur vectors; eigenvalues as of geev; how many were selected: none; info."""
    n = a.dims[0]
    vectors = call.array("vectors", [n, n])
    values = _eigenvalues(call, n)
    selected = call.array("selected", [1], "s32")
    # "N" and no function to select: eigenvalues are left in the order in which they come.
    how = (call.option("mode"), Letter(letter("N")), Cast(Pointer("void"), Literal(0)))
    info = call.lapack("gees", *how, n, a, a.leading, selected, *values, vectors, vectors.leading)
    return a, vectors, *values, item(selected.name, 0), info


@lapack_call("gehrd")
def gehrd(call: LapackCall, a: Matrix) -> Results:
    """Hessenberg form, and below it the reflectors; the factor of each; info."""
    n = a.dims[0]
    tau = call.array("tau", [max(0, n - 1)])
    range_ = (call.number("low"), call.number("high"))
    return a, tau, call.lapack("gehrd", n, *range_, a, a.leading, tau)


@lapack_call("sytrd", "hetrd")
def sytrd(call: LapackCall, a: Matrix) -> Results:
    """The reflectors; the diagonal and its neighbour of the tridiagonal form; factors; info."""
    name = "sytrd" if call.letter in "sd" else "hetrd"
    n = a.dims[0]
    diagonal = call.array("diagonal", [n], call.real)
    beside = call.array("beside", [max(0, n - 1)], call.real)
    tau = call.array("tau", [max(0, n - 1)])
    info = call.lapack(name, call.option("uplo"), n, a, a.leading, diagonal, beside, tau)
    return a, diagonal, beside, tau, info


@lapack_call("gtsv")
def gtsv(call: LapackCall, lower: Matrix, diagonal: Matrix, upper: Matrix, b: Matrix) -> Results:
    """X in T X = B for a tridiagonal T, after its diagonals as `gtsv` overwrites them; info.

    JAX's lower diagonal has a first element that is not used, and is handed on as it is.
    """
    n = lower.dims[0]
    below = call.array("below", [max(0, n - 1)])
    size = max(0, n - 1) * (4 if call.letter == "s" else 16 if call.letter == "z" else 8)
    call.body.call(BUILTINS["memcpy"], below.name, lower.name + 1, size)
    info = call.lapack("gtsv", n, b.dims[1], below, diagonal, upper, b, b.leading)
    return lower, diagonal, upper, b, info


kernel("Qr")(batched(geqrf, (2,)))
kernel("ProductOfElementaryHouseholderReflectors")(batched(orgqr, (2, 1)))


@kernel("Eigh")
def eigh(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int | None:
    """Eigenvectors as columns, and eigenvalues that rise, of Hermitian matrices.

    The configuration is `lower,sort_eigenvalues,max_iterations,tolerance`. A matrix with NaN or
    infinity has nothing but NaN, of which LAPACK is not sure.
    """
    lower = instr.annotations.backend_config.strip('"').startswith("1")
    options = {"mode": "V", "uplo": "L" if lower else "U"}

    def eigenvectors(call: LapackCall, a: Matrix) -> Results:
        nothing = _nothing(call, a)
        vectors, values, info = _eigenvectors(call, a)
        _add_nothing(call, nothing, vectors, values)
        return vectors, values, info

    return batched(eigenvectors, (2,), lambda: options)(body, instr, outputs)
