"""Powers of f64 and cube roots, which run in lanes: how exact they are, also at the ends."""

import math

import numpy as np
import pytest

import emit_c
import hlo

SPECIAL = [0.0, 1.0, 2.0, 0.5, 3.0, np.inf, 5e-324, 1e308, 2.0**53, 2.0**53 - 1, 2.0**52 + 0.5]


def powers(x, y):
    """What C gives for x to the power y."""
    module = hlo.parse(
        f"HloModule m\nENTRY e {{\n  x = f64[{x.size}] parameter(0)\n"
        f"  y = f64[{x.size}] parameter(1)\n  ROOT r = f64[{x.size}] power(x, y)\n}}\n"
    )
    return emit_c.compile(module, optimize=False)(x, y)


@pytest.mark.parametrize(
    ("bases", "exponents"),
    [
        pytest.param((-350, 350), (-2, 2), id="all sizes"),
        pytest.param((-3, 3), (-200, 200), id="large powers"),
        pytest.param((-1e-4, 1e-4), (-1e6, 1e6), id="bases near 1"),
        pytest.param((-744, -709), (-0.9, 0.9), id="subnormal bases"),
    ],
)
def test_powers_are_nearest_or_next(bases, exponents):
    """By the C library's, which are exact to 0.52 units in the last place."""
    generator = np.random.default_rng(1)
    x, y = np.exp(generator.uniform(*bases, 20_000)), generator.uniform(*exponents, 20_000)
    got, want = powers(x, y), np.array([math.pow(*pair) for pair in zip(x, y, strict=True)])
    normal = want > np.finfo(np.float64).tiny
    assert normal.sum() > 15_000
    distance = abs(got - want)[normal] / np.spacing(want[normal])
    assert distance.max() <= 1
    assert (distance > 0).mean() < 0.03


def test_powers_that_are_numbers_are_exact():
    """Whole powers of whole numbers, and of their reciprocals where these are numbers."""
    x, y = (each.ravel() for each in np.meshgrid(np.arange(-64.0, 65.0), np.arange(9.0)))
    want = [math.pow(*pair) for pair in zip(x, y, strict=True)]
    np.testing.assert_array_equal(powers(x, y), want)
    halves = 2.0 ** np.arange(-20.0, 20.0)
    np.testing.assert_array_equal(powers(halves, np.full(40, -3.0)), halves**-3.0)


def test_powers_at_the_ends_of_the_range():
    some = np.array(SPECIAL)
    some = np.concatenate([some, -some, [np.nan]])
    x, y = (each.ravel() for each in np.meshgrid(some, some))
    got = powers(x, y)
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    np.testing.assert_allclose(got, want, rtol=2**-51)
    np.testing.assert_array_equal(np.signbit(got)[want == want], np.signbit(want)[want == want])


@pytest.mark.parametrize(("kind", "ulps"), [("f32", 0.501), ("f64", 0.7)])
def test_cube_roots_are_exact_but_for_rounding(kind, ulps):
    dtype = {"f32": np.float32, "f64": np.float64}[kind]
    generator, info = np.random.default_rng(2), np.finfo(dtype)
    logs = generator.uniform(np.log(info.smallest_subnormal), np.log(info.max), 20_000)
    with np.errstate(over="ignore"):
        x = np.concatenate([np.exp(logs), SPECIAL, np.arange(100.0) ** 3, [np.nan]]).astype(dtype)
    x = np.concatenate([x, -x])
    module = hlo.parse(
        f"HloModule m\nENTRY e {{\n  x = {kind}[{x.size}] parameter(0)\n"
        f"  ROOT r = {kind}[{x.size}] cbrt(x)\n}}\n"
    )
    got = emit_c.compile(module)(x)
    assert isinstance(got, np.ndarray)
    wide = got.astype(np.longdouble)
    finite = np.isfinite(x) & (x != 0)
    # The cube of the root is off by three times as much as the root.
    error = abs((wide[finite] ** 3 - x[finite]) / x[finite] / 3)
    assert (error <= ulps * 1.001 * np.spacing(abs(got[finite])) / abs(wide[finite])).all()
    np.testing.assert_array_equal(got[~finite], x[~finite])
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x))
    whole = slice(20_000 + len(SPECIAL), 20_100 + len(SPECIAL))
    np.testing.assert_array_equal(got[whole], np.arange(100))
