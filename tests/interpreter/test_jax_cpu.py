"""Custom calls of JAX's CPU backend that are no routines of LAPACK."""

import numpy as np
import pytest
from custom_calls import TYPES, call, matrix

from hlo.errors.error import HloError

SOLVE, SPARSE = "tridiagonal_solve_perturbed_ffi", "cpu_csr_sparse_dense_ffi"


def dense(lower, diagonal, upper):
    """The matrix of three diagonals; one element of each outer one is not used."""
    return np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_tridiagonal_systems(letter: str, n: int) -> None:
    diagonals = [matrix(letter, 2, n, seed=k) for k in range(3)]
    b = matrix(letter, 2, n, 4, seed=3)
    x = call(SOLVE, f"{TYPES[letter][0]}[2,{n},4]", *diagonals, b)
    for k in range(2):
        t = dense(*(d[k] for d in diagonals))
        error = np.abs(t @ x[k] - b[k]).max()
        scale = np.abs(t).max() * np.abs(x[k]).max() + np.abs(b[k]).max()
        assert error <= 20 * np.finfo(b.dtype).eps * scale


@pytest.mark.parametrize("letter", TYPES)
def test_a_singular_system_gives_an_eigenvector(letter: str) -> None:
    # Inverse iteration with an eigenvalue that is exact: T - 2 I has no inverse.
    n = 5
    beside = np.ones(n, matrix(letter, 1).dtype)
    x = matrix(letter, n, 1)
    for _ in range(2):
        x = call(SOLVE, f"{TYPES[letter][0]}[{n},1]", beside, 0 * beside, beside, x)
        x = x / np.abs(x).max()
    assert np.abs(dense(beside, 0 * beside, beside) @ x).max() < 1e-5


def test_nothing_overflows_without_need() -> None:
    zero, one = np.zeros(3, np.float32), np.ones((3, 1), np.float32)
    assert np.isfinite(call(SOLVE, "f32[3,1]", zero, zero, zero, one)).all()
    small = np.full(3, 2e-38, np.float32)
    (x,) = {*call(SOLVE, "f32[3,1]", zero, small, zero, one).ravel().tolist()}
    assert x == pytest.approx(5e37)
    smaller = np.full(3, 1e-40, np.float32)
    (x,) = {*call(SOLVE, "f32[3,1]", zero, smaller, zero, 1e-20 * one).ravel().tolist()}
    assert x == pytest.approx(1e20, rel=1e-4)


def test_rows_are_exchanged() -> None:
    # Without, 1 / 1e-12 would drown the rest.
    f64 = np.array
    diagonal, lower, upper = f64([1e-12, 1.0]), f64([0.0, 1.0]), f64([1.0, 0.0])
    x = call(SOLVE, "f64[2,1]", lower, diagonal, upper, f64([[1.0], [3.0]]))
    np.testing.assert_allclose(x.ravel(), [2.0, 1.0], rtol=1e-9)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("count", [np.int32, np.int64])
def test_sparse_products(kind: type, count: type) -> None:
    values = np.arange(1, 6).astype(kind)
    starts, columns = np.array([0, 2, 2, 5], count), np.array([0, 3, 1, 2, 3], count)
    matrix_ = np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 4, 5]], kind)
    right = np.arange(8).reshape(4, 2).astype(kind)
    name = {"i": "s", "f": "f", "c": "c"}[np.dtype(kind).kind] + str(8 * np.dtype(kind).itemsize)
    got = call(SPARSE, f"{name}[3,2]", values, starts, columns, right)
    np.testing.assert_array_equal(got, matrix_ @ right)
    got = call(SPARSE, f"{name}[3]", values, starts, columns, right[:, 1])
    np.testing.assert_array_equal(got, matrix_ @ right[:, 1])


def test_what_is_out_of_bounds_counts_as_nothing() -> None:
    values, right = np.ones(2, np.float32), np.ones((2, 1), np.float32)
    starts, columns = np.array([-5, 1, 9, 9], np.int32), np.array([1, 2], np.int32)
    got = call(SPARSE, "f32[3,1]", values, starts, columns, right)
    np.testing.assert_array_equal(got, [[1], [0], [0]])


def test_shapes_that_do_not_fit() -> None:
    values, starts = np.ones(2, np.float32), np.zeros(4, np.int32)
    with pytest.raises(HloError, match="no product of a sparse and a dense matrix") as caught:
        call(SPARSE, "f32[2,1]", values, starts, starts[:2], np.ones((2, 1), np.float32))
    assert caught.value.code == "HLO122"
