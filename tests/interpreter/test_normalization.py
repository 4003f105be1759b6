"""Batch normalization: against its formulas in f64, and its gradient against differences."""

from typing import Any

import numpy as np
import pytest
from programs import run
from single import values

EPSILON = 0.125
TEXT = "epsilon=0.125, feature_index={}"


def made(seed: int, *dims: int) -> Any:
    return np.random.default_rng(seed).normal(size=dims).astype(np.float32)


def normalised(x: Any, axis: int, mean: Any, variance: Any) -> Any:
    shape = [-1 if d == axis else 1 for d in range(x.ndim)]
    return (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + EPSILON)


def moments(x: Any, axis: int) -> tuple[Any, Any]:
    others = tuple(d for d in range(x.ndim) if d != axis)
    return x.mean(axis=others), x.var(axis=others)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_training_and_inference(axis: int) -> None:
    x = made(1, 3, 4, 5)
    scale, offset = made(2, x.shape[axis]), made(3, x.shape[axis])
    wide = x.astype(np.float64)
    mean, variance = moments(wide, axis)
    shape = [-1 if d == axis else 1 for d in range(3)]
    want = normalised(wide, axis, mean, variance) * scale.reshape(shape) + offset.reshape(shape)
    text = f"batch-norm-training(p0, p1, p2), {TEXT.format(axis)}"
    got = run(text, x, scale, offset)
    for part, expected in zip(got, (want, mean, variance), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-5, atol=1e-6)
    text = f"batch-norm-inference(p0, p1, p2, p3, p4), {TEXT.format(axis)}"
    inferred = run(text, x, scale, offset, got[1], got[2])
    np.testing.assert_allclose(inferred, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 2])
def test_gradients_are_differences(axis: int) -> None:
    x, weights = made(1, 2, 3, 4), made(2, 2, 3, 4)
    scale, offset = made(3, x.shape[axis]), made(4, x.shape[axis])
    mean, variance = moments(x, axis)
    text = f"batch-norm-grad(p0, p1, p2, p3, p4), {TEXT.format(axis)}"
    got = run(text, x, scale, mean, variance, weights)
    shape = [-1 if d == axis else 1 for d in range(3)]

    def loss(x: Any, scale: Any, offset: Any) -> float:
        normal = normalised(x, axis, *moments(x, axis))
        output = normal * scale.reshape(shape) + offset.reshape(shape)
        return float((output * weights).sum())

    point = [a.astype(np.float64) for a in (x, scale, offset)]
    for which, gradient in enumerate(got):
        for index in np.ndindex(gradient.shape):
            sides: list[float] = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in point]
                moved[which][index] += step
                sides.append(loss(*moved))
            slope = (sides[0] - sides[1]) / 2e-5
            np.testing.assert_allclose(gradient[index], slope, rtol=1e-3, atol=1e-3)


def test_small_floats_are_computed_in_f32() -> None:
    x = values("bf16", made(1, 2, 3))
    ones = values("bf16", np.ones(3))
    output, mean, _ = run(f"batch-norm-training(p0, p1, p1), {TEXT.format(1)}", x, ones)
    want_mean, want_variance = moments(x.astype(np.float64), 1)
    want = normalised(x.astype(np.float64), 1, want_mean, want_variance) + 1
    np.testing.assert_allclose(output.astype(float), want, rtol=2**-8)
    np.testing.assert_allclose(mean.astype(float), want_mean, rtol=2**-8)


@pytest.mark.filterwarnings("error")
def test_no_elements_have_no_mean() -> None:
    x, vector = np.zeros((0, 2), np.float32), np.ones(2, np.float32)
    text = f"batch-norm-training(p0, p1, p2), {TEXT.format(1)}"
    output, mean, variance = run(text, x, vector, vector)
    assert output.shape == (0, 2)
    assert np.isnan(mean).all()
    assert np.isnan(variance).all()


def test_epsilon_is_an_f32_also_among_f64() -> None:
    none = np.zeros(1)
    text = "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.01, feature_index=0"
    got = run(text, np.ones(1), np.ones(1), none, none, none)
    assert got == 1 / np.sqrt(np.float64(np.float32(0.01)))
    assert got != 1 / np.sqrt(0.01)
