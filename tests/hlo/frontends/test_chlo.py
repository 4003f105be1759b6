"""Functions that HLO has no opcode for, held against Python's and NumPy's."""

import math

import numpy as np
import pytest

import interpreter
from hlo.frontends import stablehlo

X = np.array([-3.7, -1.5, -0.9, -0.3, 0.1, 0.5, 0.9, 1.3, 2.0, 5.5, 9.0, 20.0, 120.0])
INSIDE = np.array([-0.999999, -0.9, -0.2, 0.0, 0.3, 0.77, 0.99, 0.9999999])


def computed(name, kind, *arrays):
    """The values of a function of arrays."""
    tensor = f"tensor<{len(arrays[0])}x{kind}>"
    given = ", ".join(f"%a{k}: {tensor}" for k in range(len(arrays)))
    names = ", ".join(f"%a{k}" for k in range(len(arrays)))
    text = (
        f"func.func @main({given}) -> {tensor} {{\n"
        f"  %r = chlo.{name} {names} : {', '.join([tensor] * len(arrays))} -> {tensor}\n"
        f"  return %r : {tensor}\n}}"
    )
    dtype = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[kind]
    return interpreter.evaluate(stablehlo.parse(text), *(a.astype(dtype) for a in arrays))


def slope(function, x, step=1e-5):
    return (function(x + step) - function(x - step)) / (2 * step)


def i1e(x):
    """The integral that defines the Bessel function, times exp(-|x|)."""
    angles = (np.arange(20000) + 0.5) * np.pi / 20000
    return float(np.mean(np.exp(x * np.cos(angles) - abs(x)) * np.cos(angles)))


@pytest.mark.parametrize(("kind", "error"), [("f64", 1e-12), ("f32", 1e-5), ("f16", 2e-3)])
@pytest.mark.parametrize(
    ("name", "function", "x"),
    [
        ("lgamma", math.lgamma, X),
        ("erfc", math.erfc, X),
        ("square", lambda x: x * x, X),
        ("atan", math.atan, X),
        ("bessel_i1e", i1e, X),
    ],
)
def test_functions_of_one_number(name, function, x, kind, error):
    given = x.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[kind])
    want = [function(float(v)) for v in given]
    np.testing.assert_allclose(computed(name, kind, x), want, rtol=error, atol=error)


@pytest.mark.parametrize(("kind", "error"), [("f64", 1e-7), ("f32", 1e-4)])
def test_digamma_is_the_slope_of_lgamma(kind, error):
    x = X.astype(np.float32).astype(float)
    want = [slope(math.lgamma, float(v)) for v in x]
    np.testing.assert_allclose(computed("digamma", kind, x), want, rtol=error, atol=error)


@pytest.mark.parametrize(("kind", "error"), [("f64", 1e-10), ("f32", 1e-4)])
def test_erf_inv_is_the_inverse_of_erf(kind, error):
    x = INSIDE.astype(np.float32).astype(float)
    found = computed("erf_inv", kind, x).astype(float)
    np.testing.assert_allclose([math.erf(v) for v in found], x, rtol=error)


def test_at_the_edges():
    edges = np.array([-1.0, 1.0, 1.5, np.nan])
    found = computed("erf_inv", "f32", edges)
    np.testing.assert_array_equal(found, np.float32([-np.inf, np.inf, np.nan, np.nan]))
    found = computed("lgamma", "f32", np.array([0.0, -2.0, np.inf, -np.inf]))
    np.testing.assert_array_equal(found, np.float32([np.inf] * 4))
    found = computed("digamma", "f32", np.array([0.0, -2.0]))
    np.testing.assert_array_equal(found, np.float32([np.nan, np.nan]))


def hurwitz(x, q):
    """The sum that defines the zeta function, and the integral after a million terms."""
    k = np.arange(10**6)
    return float(np.sum((q + k) ** -x) + (q + k[-1] + 0.5) ** (1 - x) / (x - 1))


@pytest.mark.parametrize(("kind", "error"), [("f64", 1e-11), ("f32", 1e-5), ("f16", 2e-3)])
def test_zeta_is_a_sum_and_polygamma_a_multiple_of_it(kind, error):
    x, q = np.array([1.5, 2.0, 3.0, 4.0, 7.0]), np.array([0.5, 1.0, 2.5, 0.75, 1.25])
    want = [hurwitz(*pair) for pair in zip(x, q, strict=True)]
    np.testing.assert_allclose(computed("zeta", kind, x, q), want, rtol=error)
    n = np.arange(1.0, 6.0)
    want = [
        -((-1) ** k) * math.factorial(int(k)) * hurwitz(k + 1, v) for k, v in zip(n, q, strict=True)
    ]
    np.testing.assert_allclose(computed("polygamma", kind, n, q), want, rtol=3 * error)


def test_zeta_and_polygamma_at_their_poles():
    x, q = np.array([1.0, 0.5, 2.0, 3.0, 2.5, 2.5]), np.array([2.0, 2.0, -1.0, -1.0, -1.5, 0.0])
    found = computed("zeta", "f32", x, q)
    np.testing.assert_array_equal(
        found, np.float32([np.inf, np.nan, np.inf, np.nan, np.nan, np.nan])
    )
    n, x = np.array([-1.0, 0.5, 0.0]), np.array([2.0, 2.0, 0.3])
    found = computed("polygamma", "f32", n, x)
    np.testing.assert_array_equal(found[:2], np.float32([np.nan, np.nan]))
    assert found[2] == computed("digamma", "f32", x)[2]


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_next_after(kind):
    x = np.array([0.0, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0, np.inf, np.nan, 1.0, 5e-324])
    y = np.array([1.0, -1.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0, 1.0, np.nan, 0.0])
    dtype = np.float64 if kind == "f64" else np.float32
    want = np.nextafter(x.astype(dtype), y.astype(dtype))
    np.testing.assert_array_equal(computed("next_after", kind, x, y), want)
