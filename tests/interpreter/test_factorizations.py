"""Custom calls for linear algebra, beside their definitions."""

from typing import Any

import numpy as np
import pytest
from custom_calls import TYPES, adjoint, call, close, letters, matrix, permuted


@letters
@pytest.mark.parametrize("uplo", "LU")
def test_potrf(letter: str, uplo: str) -> None:
    x = matrix(letter, 2, 4, 4)
    a = x @ adjoint(x) + 4 * np.eye(4, dtype=x.dtype)
    t = TYPES[letter][0]
    backend = f"{{uplo = {ord(uplo)} : ui8}}"
    got, info = call(f"lapack_{letter}potrf_ffi", f"({t}[2,4,4], s32[2])", a, backend=backend)
    factor = np.tril(got) if uplo == "L" else adjoint(np.triu(got))
    close(letter, factor @ adjoint(factor), a)
    np.testing.assert_array_equal(info, [0, 0])


def test_potrf_says_which_pivot_failed() -> None:
    a = np.diag([1.0, 2.0, -3.0]).astype(np.float32)
    _, info = call("lapack_spotrf_ffi", "(f32[3,3], s32[])", a, backend="{uplo = 76 : ui8}")
    assert info == 3


@letters
@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 3), (3, 5), (0, 3)])
def test_getrf(letter: str, m: int, n: int) -> None:
    a, t, k = matrix(letter, m, n), TYPES[letter][0], min(m, n)
    shape = f"({t}[{m},{n}], s32[{k}], s32[])"
    lu, pivots, info = call(f"lapack_{letter}getrf_ffi", shape, a)
    lower = np.tril(lu[:, :k], -1) + np.eye(m, k, dtype=a.dtype)
    close(letter, lower @ np.triu(lu[:k]), permuted(a, pivots))
    assert info == 0


@letters
@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("diag", "NU")
def test_trsm(letter: str, side: str, uplo: str, trans: str, diag: str) -> None:
    a = matrix(letter, 3, 3) + 4 * np.eye(3, dtype=TYPES[letter][1])
    b = matrix(letter, 3, 2, seed=1) if side == "L" else matrix(letter, 2, 3, seed=1)
    options = {"diag": diag, "side": side, "trans_x": trans, "uplo": uplo}
    backend = "{" + ", ".join(f"{k} = {ord(v)} : ui8" for k, v in options.items()) + "}"
    dims = ",".join(map(str, b.shape))
    x = call(f"lapack_{letter}trsm_ffi", f"{TYPES[letter][0]}[{dims}]", a, b, backend=backend)
    triangle = np.tril(a) if uplo == "L" else np.triu(a)
    if diag == "U":
        np.fill_diagonal(triangle, 1)
    operated = {"N": triangle, "T": triangle.T, "C": adjoint(triangle)}[trans]
    close(letter, operated @ x if side == "L" else x @ operated, b)


@letters
@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 3), (3, 5)])
def test_geqrf_and_orgqr(letter: str, m: int, n: int) -> None:
    a, t, k = matrix(letter, 2, m, n), TYPES[letter][0], min(m, n)
    packed, tau = call(f"lapack_{letter}geqrf_ffi", f"({t}[2,{m},{n}], {t}[2,{k}])", a)
    name = "orgqr" if letter in "sd" else "ungqr"
    q = call(f"lapack_{letter}{name}_ffi", f"{t}[2,{m},{k}]", packed[..., :k].copy(), tau)
    close(letter, q @ np.triu(packed[:, :k]), a)
    close(letter, adjoint(q) @ q, np.broadcast_to(np.eye(k), (2, k, k)))


def test_the_names_of_tensorflow_are_geqrf_and_orgqr() -> None:
    a = matrix("s", 4, 3)
    packed, tau = call("Qr", "(f32[4,3], f32[3])", a)
    q = call("ProductOfElementaryHouseholderReflectors", "f32[4,3]", packed, tau)
    close("s", q @ np.triu(packed[:3]), a)


@letters
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr(letter: str, left: bool, transpose: bool) -> None:
    a, t = matrix(letter, 4, 4), TYPES[letter][0]
    c = matrix(letter, 4, 2, seed=1) if left else matrix(letter, 2, 4, seed=1)
    packed, tau = call(f"lapack_{letter}geqrf_ffi", f"({t}[4,4], {t}[4])", a)
    prefix = "or" if letter in "sd" else "un"
    q = call(f"lapack_{letter}{prefix}gqr_ffi", f"{t}[4,4]", packed, tau)
    backend = f"{{left = {str(left).lower()}, transpose = {str(transpose).lower()}}}"
    shape = f"{t}[{c.shape[0]},{c.shape[1]}]"
    got = call(f"lapack_{letter}{prefix}mqr_ffi", shape, packed, tau, c, backend=backend)
    factor = adjoint(q) if transpose else q
    close(letter, got, factor @ c if left else c @ factor)


@letters
def test_geqp3(letter: str) -> None:
    a, t = matrix(letter, 4, 3), TYPES[letter][0]
    shape = f"({t}[4,3], s32[3], {t}[3])"
    packed, columns, tau = call(
        f"lapack_{letter}geqp3_ffi", shape, a, np.zeros(3, np.int32), backend="{}"
    )
    name = "orgqr" if letter in "sd" else "ungqr"
    q = call(f"lapack_{letter}{name}_ffi", f"{t}[4,3]", packed, tau)
    close(letter, q @ np.triu(packed[:3]), a[:, columns - 1])
    diagonal = np.abs(np.diag(packed))
    assert (np.diff(diagonal) <= 0).all()


@letters
@pytest.mark.parametrize("uplo", "LU")
def test_syevd(letter: str, uplo: str) -> None:
    x, t = matrix(letter, 4, 4), TYPES[letter][0]
    a = x + adjoint(x)
    half = np.tril(a) if uplo == "L" else np.triu(a)
    name, real = (
        ("syevd", t) if letter in "sd" else ("heevd", TYPES["s" if letter == "c" else "d"][0])
    )
    backend = f"{{mode = 86 : ui8, uplo = {ord(uplo)} : ui8}}"
    shape = f"({t}[4,4], {real}[4], s32[])"
    vectors, values, info = call(f"lapack_{letter}{name}_ffi", shape, half, backend=backend)
    close(letter, a @ vectors, vectors * values)
    assert (np.diff(values) >= 0).all()
    assert info == 0


def test_eigh_of_tensorflow() -> None:
    x = matrix("s", 4, 4)
    a = x + x.T
    vectors, values = call("Eigh", "(f32[4,4], f32[4])", np.tril(a), backend='"1,1,100,0.000001"')
    close("s", a @ vectors, vectors * values)


@letters
@pytest.mark.parametrize(("m", "n"), [(4, 3), (3, 4)])
@pytest.mark.parametrize("job", "AS")
def test_gesdd(letter: str, m: int, n: int, job: str) -> None:
    a, t, k = matrix(letter, m, n), TYPES[letter][0], min(m, n)
    real = TYPES["s" if letter in "sc" else "d"][0]
    u_columns, v_rows = (m, n) if job == "A" else (k, k)
    shape = f"({t}[{m},{n}], {real}[{k}], {t}[{m},{u_columns}], {t}[{v_rows},{n}], s32[])"
    backend = f"{{mode = {ord(job)} : ui8}}"
    _, s, u, vh, info = call(f"lapack_{letter}gesdd_ffi", shape, a, backend=backend)
    close(letter, (u[:, :k] * s) @ vh[:k], a)
    close(letter, adjoint(u) @ u, np.eye(u_columns))
    assert info == 0


@letters
def test_gesdd_ends_if_there_is_an_infinity(letter: str) -> None:
    """LAPACK alone would not."""
    a, t = matrix(letter, 3, 3), TYPES[letter][0]
    real = TYPES["s" if letter in "sc" else "d"][0]
    a[2, 0] = -np.inf
    shape = f"({t}[3,3], {real}[3], {t}[3,3], {t}[3,3], s32[])"
    *_, info = call(f"lapack_{letter}gesdd_ffi", shape, a, backend=f"{{mode = {ord('A')} : ui8}}")
    assert info < 0


@letters
@pytest.mark.parametrize("u_columns", [3, 4])
def test_gesdd_without_vectors_leaves_room_of_any_shape(letter: str, u_columns: int) -> None:
    a, t = matrix(letter, 4, 3), TYPES[letter][0]
    real = TYPES["s" if letter in "sc" else "d"][0]
    shape = f"({t}[4,3], {real}[3], {t}[4,{u_columns}], {t}[3,3], s32[])"
    _, s, *_ = call(f"lapack_{letter}gesdd_ffi", shape, a, backend="{mode = 78 : ui8}")
    close(letter, s, np.linalg.svd(a, compute_uv=False))


@letters
def test_geev(letter: str) -> None:
    a, t = matrix(letter, 5, 5), TYPES[letter][0]
    vector = TYPES["c" if letter in "sc" else "z"][0]
    values = f"{t}[5], {t}[5]" if letter in "sd" else f"{t}[5]"
    shape = f"({values}, {vector}[5,5], {vector}[5,5], s32[])"
    backend = "{compute_left = 86 : ui8, compute_right = 86 : ui8}"
    *w, left, right, info = call(f"lapack_{letter}geev_ffi", shape, a, backend=backend)
    eigenvalues = w[0] + 1j * w[1] if letter in "sd" else w[0]
    close(letter, a @ right, right * eigenvalues)
    close(letter, adjoint(left) @ a, eigenvalues[:, None] * adjoint(left))
    assert info == 0


@letters
def test_gees(letter: str) -> None:
    a, t = matrix(letter, 5, 5), TYPES[letter][0]
    values = f"{t}[5], {t}[5]" if letter in "sd" else f"{t}[5]"
    shape = f"({t}[5,5], {t}[5,5], {values}, s32[], s32[])"
    backend = "{mode = 86 : ui8, sort = 78 : ui8}"
    schur, vectors, *_, info = call(f"lapack_{letter}gees_ffi", shape, a, backend=backend)
    close(letter, vectors @ schur @ adjoint(vectors), a)
    close(letter, np.tril(schur, -2), 0)
    assert info == 0


@letters
def test_gehrd(letter: str) -> None:
    a, t = matrix(letter, 4, 4), TYPES[letter][0]
    backend = "{high = 4 : i32, low = 1 : i32}"
    shape = f"({t}[4,4], {t}[3], s32[])"
    packed, tau, info = call(f"lapack_{letter}gehrd_ffi", shape, a, backend=backend)
    name = "orgqr" if letter in "sd" else "ungqr"
    q = np.eye(4, dtype=a.dtype)
    q[1:, 1:] = call(f"lapack_{letter}{name}_ffi", f"{t}[3,3]", packed[1:, :3].copy(), tau)
    close(letter, q @ np.triu(packed, -1) @ adjoint(q), a)
    assert info == 0


@letters
def test_sytrd_keeps_the_eigenvalues(letter: str) -> None:
    x, t = matrix(letter, 5, 5), TYPES[letter][0]
    a = x + adjoint(x)
    name, real = (
        ("sytrd", t) if letter in "sd" else ("hetrd", TYPES["s" if letter == "c" else "d"][0])
    )
    shape = f"({t}[5,5], {real}[5], {real}[4], {t}[4], s32[])"
    _, d, e, _, info = call(f"lapack_{letter}{name}_ffi", shape, a, backend="{uplo = 76 : ui8}")
    tridiagonal = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    close(letter, np.linalg.eigvalsh(tridiagonal), np.linalg.eigvalsh(a))
    assert info == 0


@letters
def test_gtsv(letter: str) -> None:
    n, t = 5, TYPES[letter][0]
    lower, upper = matrix(letter, n, seed=1), matrix(letter, n, seed=2)
    diagonal, b = matrix(letter, n, seed=3) + 5, matrix(letter, n, 2, seed=4)
    vectors = ", ".join([f"{t}[{n}]"] * 3)
    shape = f"({vectors}, {t}[{n},2], s32[])"
    *_, x, info = call(f"lapack_{letter}gtsv_ffi", shape, lower, diagonal.astype(b.dtype), upper, b)
    tridiagonal = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    close(letter, tridiagonal @ x, b)
    assert info == 0


def number(value: int) -> Any:
    return np.array(value, np.int32)


@letters
def test_the_names_before_ffi(letter: str) -> None:
    x, t, two, three = matrix(letter, 2, 3, 3), TYPES[letter][0], number(2), number(3)
    real = TYPES["s" if letter in "sc" else "d"][0]
    a = x @ adjoint(x) + np.eye(3, dtype=x.dtype)
    shape = f"({t}[2,3,3], s32[2])"
    factor, _ = call(f"lapack_{letter}potrf", shape, number(1), two, three, a)
    close(letter, np.tril(factor) @ adjoint(np.tril(factor)), a)
    sizes = (two, three, three)
    shape = f"({t}[2,3,3], {t}[2,3], s32[2], {t}[8])"
    packed, tau, *_ = call(f"lapack_{letter}geqrf", shape, *sizes, number(8), x)
    name, evd = ("orgqr", "syevd") if letter in "sd" else ("ungqr", "heevd")
    shape = f"({t}[2,3,3], s32[2], {t}[8])"
    q, *_ = call(f"lapack_{letter}{name}", shape, *sizes, three, number(8), packed, tau)
    close(letter, q @ np.triu(packed), x)
    shape = f"({t}[2,3,3], {real}[2,3], s32[2], {t}[8])"
    vectors, values, *_ = call(f"lapack_{letter}{evd}", shape, number(1), two, three, a)
    close(letter, a @ vectors, vectors * values[:, None, :])
    shape = f"({t}[2,3,3], {real}[2,3], {t}[2,3,3], {t}[2,3,3], s32[2], s32[2], {t}[8])"
    flags = (number(1), number(1))
    _, s, u, vh, *_ = call(f"lapack_{letter}gesdd", shape, *flags, *sizes, number(8), x)
    close(letter, (u * s[:, None, :]) @ vh, x)
    shape = f"({t}[2,3,3], s32[2,3], s32[2])"
    lu, pivots, _ = call(f"lapack_{letter}getrf", shape, *sizes, x)
    close(letter, (np.tril(lu[0], -1) + np.eye(3)) @ np.triu(lu[0]), permuted(x[0], pivots[0]))
    flags = (number(1), number(1), number(2), number(0))
    alpha = np.array(2, x.dtype)
    solved = call(f"blas_{letter}trsm", f"{t}[2,3,3]", *flags, *sizes, alpha, lu, x)
    close(letter, adjoint(np.tril(lu)) @ solved, 2 * x)


def test_old_calls_say_first_whether_vectors_are_all_of_them() -> None:
    x = matrix("d", 5, 3)
    some = "(f64[5,3], f64[3], f64[5,3], f64[3,3], s32[], s32[24], f64[99])"
    sizes = [number(n) for n in (1, 5, 3, 99)]
    _, s, u, vh, *_ = call("lapack_dgesdd", some, number(0), number(1), *sizes, x)
    close("d", (u * s) @ vh, x)
    rooms = "(f64[5,3], f64[3], f64[5,5], f64[3,3], s32[], s32[24], f64[99])"
    _, alone, u, *_ = call("lapack_dgesdd", rooms, number(1), number(0), *sizes, x)
    np.testing.assert_allclose(alone, s)
    assert not u.any()
