"""Custom calls for linear algebra: JAX's `lapack_*_ffi`, and TensorFlow's Qr and Eigh.

Each function here works on one matrix, in place; `batched` runs it for every matrix of a batch,
for all four types. Options come as numbers of letters: `uplo = 76 : ui8` is "L".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.custom_calls.lapack import LETTERS, call_blas, column_major, lapack, leading
from interpreter.custom_calls.lapack_names import SIGNATURES, ffi_targets
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import custom_call
from interpreter.custom_calls.signatures import check_call, letter_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

    Array = NDArray[Any]
    Options = dict[str, Any]
    # Takes the type's letter, the options and one matrix of each operand; gives one of each result.
    Routine = Callable[..., tuple[Any, ...]]

# The function that computes each routine, and the ranks of its arrays.
ROUTINES: dict[str, tuple[Routine, tuple[int, ...]]] = {}


def lapack_call(*names: str) -> Callable[[Routine], Routine]:
    """Register a routine on matrices as custom calls.

    Parameters
    ----------
    names : as of `ffi_targets`; the first is a row of `SIGNATURES`.
    """

    def register(routine: Routine) -> Routine:
        for name in names:
            ROUTINES[name] = routine, SIGNATURES[names[0]].ranks
            custom_call(*ffi_targets(name))(batched(*ROUTINES[name]))
        return routine

    return register


def batched(
    routine: Routine, ranks: Sequence[int], read: Callable[..., Options] | None = None
) -> Callable[..., Value]:
    """A custom call that runs a routine for every matrix of a batch.

    Parameters
    ----------
    ranks : dimensions of each array; those in front of them are the batch.
    read : makes options of operands that are in front of the arrays; None if there are none, and
        the backend configuration holds the options.
    """

    def call(_frame: Frame, instr: Instruction, *operands: Array) -> Value:
        scalars, arrays = operands[: -len(ranks)], operands[-len(ranks) :]
        options = config(instr)
        if read:
            options = read(*scalars)
            check_call(instr, options)
        letter = LETTERS[arrays[0].dtype]
        batch = arrays[0].shape[: arrays[0].ndim - ranks[0]]
        shapes = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
        # Some calls leave out the info; the old ones count room to work in among their results.
        results = [np.zeros(s.dims, s.element_type.dtype) for s in shapes]
        for index in np.ndindex(batch):
            values = routine(letter, options, *(column_major(x[index]) for x in arrays))
            for result, value in zip(results, values, strict=False):
                # A number in the place of vectors that nobody asks for stays 0.
                if result.ndim >= len(index):
                    result[index] = value
        return tuple(results) if instr.shape.is_tuple else results[0]

    return call


def _real(letter: str) -> type[np.floating[Any]]:
    return np.float32 if letter in "sc" else np.float64


def _letter(options: Options, key: str) -> str:
    return letter_of(options[key])


def _nothing(letter: str, a: Array) -> Any:
    """The number 0; NaN if an element is NaN or infinite."""
    with np.errstate(invalid="ignore"):
        return (a.ravel(order="K").view(_real(letter)) * 0).sum()


@lapack_call("potrf")
def potrf(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """Cholesky factor in one triangle, the other left as it was; info."""
    info = lapack(letter + "potrf", _letter(options, "uplo"), len(a), a, leading(a))
    return a, info


@lapack_call("getrf")
def getrf(letter: str, _options: Options, a: Array) -> tuple[Any, ...]:
    """LU factors in one matrix; the row, from 1, that each row was exchanged with; info."""
    m, n = a.shape
    pivots = np.zeros(min(m, n), np.int32)
    info = lapack(letter + "getrf", m, n, a, leading(a), pivots)
    return a, pivots, info


@lapack_call("trsm")
def trsm(letter: str, options: Options, a: Array, b: Array) -> tuple[Any, ...]:
    """X in op(A) X = B, or in X op(A) = B, where A is triangular."""
    how = [_letter(options, key) for key in ("side", "uplo", "trans_x", "diag")]
    one = np.ones((), b.dtype)
    call_blas(letter + "trsm", *how, *b.shape, one, a, leading(a), b, leading(b))
    return (b,)


@lapack_call("geqrf")
def geqrf(letter: str, _options: Options, a: Array) -> tuple[Any, ...]:
    """R, and below it the reflectors whose product is Q; the factor of each; info, which is 0."""
    m, n = a.shape
    tau = np.zeros(min(m, n), a.dtype)
    info = lapack(letter + "geqrf", m, n, a, leading(a), tau)
    return a, tau, info


@lapack_call("geqp3")
def geqp3(letter: str, _options: Options, a: Array, pivots: Array) -> tuple[Any, ...]:
    """As geqrf, for A with its columns sorted so that R's diagonal falls; the columns, from 1."""
    m, n = a.shape
    tau = np.zeros(min(m, n), a.dtype)
    lapack(letter + "geqp3", m, n, a, leading(a), pivots, tau)
    return a, pivots, tau


@lapack_call("orgqr", "ungqr")
def orgqr(letter: str, _options: Options, a: Array, tau: Array) -> tuple[Any, ...]:
    """The first columns of Q, from the reflectors that geqrf leaves; info, which is 0."""
    name = "orgqr" if letter in "sd" else "ungqr"
    m, n = a.shape
    info = lapack(letter + name, m, n, len(tau), a, leading(a), tau)
    return a, info


@lapack_call("ormqr", "unmqr")
def ormqr(letter: str, options: Options, a: Array, tau: Array, c: Array) -> tuple[Any, ...]:
    """Q C, C Q, or either with the adjoint of Q, from the reflectors that geqrf leaves."""
    name, adjoint = ("ormqr", "T") if letter in "sd" else ("unmqr", "C")
    how = ["L" if options["left"] else "R", adjoint if options["transpose"] else "N"]
    lapack(letter + name, *how, *c.shape, len(tau), a, leading(a), tau, c, leading(c))
    return (c,)


@lapack_call("syevd", "heevd")
def syevd(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """Eigenvectors as columns; eigenvalues, which rise; info."""
    name = "syevd" if letter in "sd" else "heevd"
    values = np.zeros(len(a), _real(letter))
    how = [_letter(options, key) for key in ("mode", "uplo")]
    info = lapack(letter + name, *how, len(a), a, leading(a), values)
    return a, values, info


@lapack_call("gesdd", "gesvd")
def gesdd(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """The rest of A, falling singular values, U and V^H as requested, and info.

    LAPACK refuses NaN, but may iterate for ever if there is an infinity, as XLA's CPU does then:
    here a matrix with an infinity is one of NaN.
    """
    a = a + _nothing(letter, a)
    job = _letter(options, "mode")
    m, n = a.shape
    k = min(m, n)
    # Vectors that nobody asks for are one 0, which fills results of any shape.
    dims = {"A": ((m, m), (n, n)), "S": ((m, k), (k, n))}.get(job, ((1, 1), (1, 1)))
    values = np.zeros(k, _real(letter))
    u, vh = (np.zeros(d, a.dtype, "F") for d in dims)
    info = lapack(
        letter + "gesdd", job, m, n, a, leading(a), values, u, leading(u), vh, leading(vh)
    )
    return a, values, u, vh, info


@lapack_call("geev")
def geev(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """Eigenvalues, for real types their real and imaginary parts; left, right vectors; info."""
    n = len(a)
    jobs = [_letter(options, key) for key in ("compute_left", "compute_right")]
    left, right = (np.zeros((n, n), a.dtype, "F") for _ in range(2))
    values = [np.zeros(n, a.dtype) for _ in range(2 if letter in "sd" else 1)]
    vectors = (left, leading(left), right, leading(right))
    info = lapack(letter + "geev", *jobs, n, a, leading(a), *values, *vectors)
    if letter in "sd":
        left, right = (_complex_vectors(v, values[1]) for v in (left, right))
    return *values, left, right, info


def _complex_vectors(packed: Array, imaginary: Array) -> Array:
    """Vectors of a real matrix: two real columns hold the parts of a pair of conjugate ones."""
    vectors = packed.astype(np.result_type(packed.dtype, np.complex64))
    for j in np.flatnonzero(imaginary > 0):
        vectors[:, j] = packed[:, j] + 1j * packed[:, j + 1]
        vectors[:, j + 1] = packed[:, j] - 1j * packed[:, j + 1]
    return vectors


@lapack_call("gees")
def gees(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """Schur form; Schur vectors; eigenvalues as of geev; how many were selected: none; info."""
    n = len(a)
    vectors = np.zeros((n, n), a.dtype, "F")
    values = [np.zeros(n, a.dtype) for _ in range(2 if letter in "sd" else 1)]
    selected = np.zeros(1, np.int32)
    # "N" and 0, a null pointer: eigenvalues are left in the order in which they come.
    nothing = ("N", 0)
    info = lapack(
        *(letter + "gees", _letter(options, "mode"), *nothing, n, a, leading(a), selected),
        *(*values, vectors, leading(vectors)),
    )
    return a, vectors, *values, selected[0], info


@lapack_call("gehrd")
def gehrd(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """Hessenberg form, and below it the reflectors; the factor of each; info."""
    n = len(a)
    tau = np.zeros(max(0, n - 1), a.dtype)
    info = lapack(letter + "gehrd", n, options["low"], options["high"], a, leading(a), tau)
    return a, tau, info


@lapack_call("sytrd", "hetrd")
def sytrd(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """The reflectors; the diagonal and its neighbour of the tridiagonal form; factors; info."""
    name = "sytrd" if letter in "sd" else "hetrd"
    n = len(a)
    diagonal, beside = np.zeros(n, _real(letter)), np.zeros(max(0, n - 1), _real(letter))
    tau = np.zeros(max(0, n - 1), a.dtype)
    uplo = _letter(options, "uplo")
    info = lapack(letter + name, uplo, n, a, leading(a), diagonal, beside, tau)
    return a, diagonal, beside, tau, info


@lapack_call("gtsv")
def gtsv(
    letter: str, _options: Options, lower: Array, diagonal: Array, upper: Array, b: Array
) -> tuple[Any, ...]:
    """X in T X = B for a tridiagonal T, after its diagonals as `gtsv` overwrites them; info.

    JAX's lower diagonal has a first element that is not used, as its upper has a last one.
    """
    n = len(diagonal)
    below = lower[1:].copy()
    info = lapack(letter + "gtsv", n, b.shape[1], below, diagonal, upper, b, leading(b))
    return lower, diagonal, upper, b, info


@custom_call("Qr")
def qr(_frame: Frame, instr: Instruction, a: Array) -> tuple[Array, Array]:
    """The results of geqrf, under TensorFlow's name.

    References
    ----------
    `qr_expander.cc` in XLA.
    """
    return batched(geqrf, (2,))(_frame, instr, a)


@custom_call("ProductOfElementaryHouseholderReflectors")
def product_of_reflectors(_frame: Frame, instr: Instruction, a: Array, tau: Array) -> Array:
    """The result of orgqr, under TensorFlow's name.

    References
    ----------
    `householder_transform_expander` in XLA.
    """
    return batched(orgqr, (2, 1))(_frame, instr, a, tau)


@custom_call("Eigh")
def eigh(_frame: Frame, instr: Instruction, a: Array) -> tuple[Array, Array]:
    """Eigenvectors as columns, and eigenvalues that rise, of Hermitian matrices.

    The configuration is `lower,sort_eigenvalues,max_iterations,tolerance`: XLA iterates by
    Jacobi's method, whose vectors may have the other sign. A matrix with NaN or infinity has
    nothing but NaN, of which LAPACK is not sure.

    References
    ----------
    `eigh_expander.cc` in XLA.
    """
    lower = instr.annotations.backend_config.strip('"').startswith("1")
    options = {"mode": ord("V"), "uplo": ord("L" if lower else "U")}

    def eigenvectors(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
        nothing = _nothing(letter, a)
        vectors, values, _ = syevd(letter, options, a)
        return vectors + nothing, values + nothing

    return batched(eigenvectors, (2,), lambda: options)(_frame, instr, a)
