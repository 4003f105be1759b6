"""Cholesky, triangular-solve and fft: against what they promise of their results."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from programs import run

from hlo import HloError


def made(seed: int, name: str, *dims: int) -> Any:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=dims)
    if name[0] == "c":
        numbers = numbers + 1j * rng.normal(size=dims)
    return numbers.astype({"f32": "f4", "f64": "f8", "c64": "c8", "c128": "c16"}[name])


NAMES = ["f32", "f64", "c64", "c128"]
TOLERANCE = {"f4": 1e-3, "c8": 1e-3, "f8": 1e-11, "c16": 1e-11}


def assert_near(got: Any, want: Any) -> None:
    tolerance = TOLERANCE[got.dtype.str[1:]]
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("name", NAMES)
def test_cholesky(name: str, lower: str) -> None:
    root = made(1, name, 2, 3, 4, 4)
    matrices = root @ root.conj().mT + np.eye(4, dtype=root.dtype)
    # The other triangle is not read.
    triangle = np.tril(np.ones((4, 4), bool))
    if lower == "false":
        triangle = triangle.T
    factor = run(f"cholesky(p0), lower={lower}", np.where(triangle, matrices, np.nan))
    assert not factor[..., ~triangle].any()
    product_ = factor @ factor.conj().mT if lower == "true" else factor.conj().mT @ factor
    assert_near(product_, matrices)


def test_cholesky_of_indefinite_matrices_is_nan() -> None:
    matrices = np.array([[[4, 2], [2, 5]], [[1, 2], [2, 1]]], np.float32)
    factor = run("cholesky(p0), lower=true", matrices)
    assert factor[0].tolist() == [[2, 0], [1, 2]]
    assert np.isnan(factor[1]).all()
    assert run("cholesky(p0), lower=true", np.zeros((0, 0), np.float32)).shape == (0, 0)


@pytest.mark.parametrize(
    ("left", "lower", "unit", "transpose"),
    list(product(*[["true", "false"]] * 3, ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])),
)
@pytest.mark.parametrize("name", ["f32", "c128"])
def test_triangular_solve(name: str, left: str, lower: str, unit: str, transpose: str) -> None:
    system = made(1, name, 2, 5, 5) + 4 * np.eye(5, dtype=made(0, name).dtype)
    right = made(2, name, 2, 5, 3) if left == "true" else made(2, name, 2, 3, 5)
    text = (
        f"triangular-solve(p0, p1), left_side={left}, lower={lower}, unit_diagonal={unit}, "
        f"transpose_a={transpose}"
    )
    solution = run(text, system, right)
    used = np.tril(system) if lower == "true" else np.triu(system)
    if unit == "true":
        used = used - used * np.eye(5) + np.eye(5)
    used = {"NO_TRANSPOSE": used, "TRANSPOSE": used.mT, "ADJOINT": used.conj().mT}[transpose]
    assert_near((used @ solution if left == "true" else solution @ used).astype(right.dtype), right)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("wide", [False, True])
def test_fft(rank: int, wide: bool) -> None:
    lengths = [4, 3, 6][-rank:]
    complex_, real = ("c128", "f64") if wide else ("c64", "f32")
    text = f"fft_length={{{','.join(map(str, lengths))}}}"
    axes = tuple(range(-rank, 0))
    x = made(1, complex_, 2, 4, 3, 6)
    transformed = run(f"fft(p0), fft_type=FFT, {text}", x)
    # The definition, one dimension after the other.
    want: Any = x.astype(np.complex128)
    for axis in axes:
        n = want.shape[axis]
        waves = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
        want = np.moveaxis(np.moveaxis(want, axis, -1) @ waves, -1, axis)
    assert_near(transformed, want)
    assert_near(run(f"fft(p0), fft_type=IFFT, {text}", transformed), x)
    y = made(2, real, 2, 4, 3, 6)
    half = run(f"fft(p0), fft_type=RFFT, {text}", y)
    whole = run(f"fft(p0), fft_type=FFT, {text}", y.astype(x.dtype))
    assert_near(half, whole[..., : lengths[-1] // 2 + 1])
    assert_near(run(f"fft(p0), fft_type=IRFFT, {text}", half), y)


@pytest.mark.parametrize("n", [1, 5])
def test_fft_of_odd_lengths(n: int) -> None:
    y = made(3, "f32", 2, n)
    half = run(f"fft(p0), fft_type=RFFT, fft_length={{{n}}}", y)
    assert half.shape == (2, n // 2 + 1)
    assert_near(run(f"fft(p0), fft_type=IRFFT, fft_length={{{n}}}", half), y)


def test_fft_of_length_0_is_zero() -> None:
    x = np.full((1, 1, 1), 2 + 3j, np.complex64)
    assert not run("fft(p0), fft_type=FFT, fft_length={0}", x).any()
    assert not run("fft(p0), fft_type=IFFT, fft_length={1,0,1}", x).any()


def test_fft_of_another_length_than_the_operands_is_refused() -> None:
    with pytest.raises(HloError, match="HLO029"):
        run("fft(p0), fft_type=FFT, fft_length={2}", np.ones(3, np.complex64))
