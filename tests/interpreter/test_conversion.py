"""Conversions: every pair of types, saturation, reduced precision, stochastic rounding."""

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from single import all_values, evaluate, values

from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.limits import integer_range
from hlo.types.rounding import ROUNDED_ONCE
from interpreter.numbers.compare import compare

INF, NAN = math.inf, math.nan
TYPES = {name: t for name, t in ELEMENT_TYPES.items() if t.is_array}
INTEGERS = [name for name, t in TYPES.items() if t.is_integer]
FLOATS = [name for name, t in TYPES.items() if t.is_floating]

# fmt: off
MEASURED = [
    ("f32", "s8",   [NAN, 300.0, -300.0, 1.9, -1.9],                [0, 127, -128, 1, -1]),
    ("f32", "s8",   [INF, -INF],                                    [127, -128]),
    ("f32", "u32",  [-5.0, 5e9, NAN, 4294967040.0],                 [0, 4294967295, 0, 4294967040]),
    ("f32", "s32",  [2147483520.0, 2147483648.0],                   [2147483520, 2147483647]),
    ("f32", "s32",  [-2147483648.0, -1e30],                         [-2147483648, -2147483648]),
    ("f64", "s64",  [9.3e18, -9.3e18, 9007199254740993.0],          [2**63 - 1, -(2**63), 2**53]),
    ("f64", "u64",  [1.9e19, -0.5, 2.0**63],                        [2**64 - 1, 0, 2**63]),
    ("f32", "s4",   [7.9, 8.0, -9.0, NAN],                          [7, 7, -8, 0]),
    ("f8e5m2", "s32", [57344.0, INF, NAN],                          [57344, 2**31 - 1, 0]),
    ("s32", "s8",   [300, -129],                                    [44, 127]),
    ("s32", "s4",   [9, -9],                                        [-7, 7]),
    ("s64", "u32",  [-1],                                           [2**32 - 1]),
    ("u64", "f32",  [2**64 - 1, 2**63 + 2**39 + 1],                 [2.0**64, 2.0**63 + 2.0**40]),
    ("f32", "f8e4m3fn", [464.0, 465.0, INF, -0.0],                  [448.0, NAN, NAN, -0.0]),
    ("f32", "f8e4m3fn", [17.0, 17.0001],                            [16.0, 18.0]),
    ("f32", "f8e4m3fnuz", [-0.0, INF, 248.0],                       [0.0, NAN, NAN]),
    ("f32", "f4e2m1fn", [INF, NAN, -0.25, 1e-10, -7.0],             [6.0, -0.0, -0.0, 0.0, -6.0]),
    ("f32", "f8e8m0fnu", [3.0, 0.3, -1.0, 0.0],                     [4.0, 0.25, NAN, NAN]),
    ("f64", "bf16", [1 + 2**-8 + 2**-20, 1e39, NAN],                [1 + 2**-7, INF, NAN]),
    ("f64", "bf16", [1 + 2**-8 + 2**-40],                           [1.0]),
]
# fmt: on


@pytest.mark.parametrize(("source", "target", "numbers", "want"), MEASURED)
def test_measured_on_xla_cpu(source: str, target: str, numbers: Any, want: Any) -> None:
    got = evaluate("convert", target, values(source, numbers))
    assert compare(got, values(target, want)) is None


@pytest.mark.parametrize("source", [n for n in TYPES if n != "s1"])
def test_one_is_one_in_every_type(source: str) -> None:
    for target in TYPES:
        # The numbers of s1 are 0 and -1.
        if target != "s1":
            got = evaluate("convert", target, values(source, [1]))
            assert compare(got, values(target, [1])) is None


@pytest.mark.parametrize("source", [n for n in TYPES if n != "f8e8m0fnu"])
def test_pred_is_whether_not_zero(source: str) -> None:
    x = values(source, [0, 1])
    assert evaluate("convert", "pred", x).tolist() == [False, True]
    assert compare(evaluate("convert", source, np.array([False, True])), x) is None


def test_nan_and_tiny_numbers_are_true() -> None:
    got = evaluate("convert", "pred", values("f32", [NAN, -0.0, 0.1, 1e-45]))
    assert got.tolist() == [True, False, True, True]
    z = values("c64", [0, 1j, complex(-0.0, 0)])
    assert evaluate("convert", "pred", z).tolist() == [False, True, False]


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.data())
def test_integers_wrap(source: str, target: str, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(*integer_range(TYPES[source])), min_size=4))
    got = evaluate("convert", target, values(source, numbers))
    assert compare(got, values(target, numbers)) is None


@given(st.sampled_from(["f32", "f64"]), st.sampled_from(INTEGERS), st.floats(width=32))
def test_floats_saturate(source: str, target: str, number: float) -> None:
    low, high = integer_range(TYPES[target])
    want = 0 if math.isnan(number) else max(low, min(high, int(max(-1e30, min(1e30, number)))))
    assert int(evaluate("convert", target, values(source, [number]))[0]) == want


@pytest.mark.parametrize("target", [n for n in FLOATS if TYPES[n].bits <= 8])
@pytest.mark.parametrize("source", FLOATS)
def test_floats_become_the_nearest(source: str, target: str) -> None:
    """Against exact fractions: no number of the target type is nearer than the result."""
    every = all_values(target)
    numbers = np.unique(every[np.isfinite(every.astype(np.float64))].astype(np.float64))
    middle = (numbers[1:] + numbers[:-1]) / 2
    x = values(source, np.concatenate([numbers, middle, middle * (1 + 2**-6)]))
    wide = x.astype(np.float64)
    x = x[(wide >= numbers[0]) & (wide <= numbers[-1])]
    got = evaluate("convert", target, x)
    for number, result in zip(x.astype(np.float64), got.astype(np.float64), strict=True):
        place = int(np.searchsorted(numbers, number))
        near = numbers[max(0, place - 1) : place + 2]
        distance = min(abs(Fraction(n) - Fraction(number)) for n in near)
        assert abs(Fraction(result) - Fraction(number)) == distance, (number, result)


@pytest.mark.parametrize("target", sorted(t.name for t in ROUNDED_ONCE))
def test_doubles_are_rounded_once(target: str) -> None:
    """Beside what is half-way between two numbers, by less than an f32 can tell."""
    every = all_values(target).astype(np.float64)
    numbers = np.unique(every[np.isfinite(every)])
    low, high = numbers[:-1], numbers[1:]
    middle = (low + high) / 2
    size = np.abs(middle) * 2**-40
    for x, want in ((middle - size, low), (middle + size, high)):
        got = evaluate("convert", target, x[middle != 0])
        assert got.astype(np.float64).tolist() == want[middle != 0].tolist()


def test_complex_to_real_drops_the_imaginary_part() -> None:
    z = values("c64", [1.5 + 2j, complex(NAN, 1)])
    assert compare(evaluate("convert", "f64", z), np.array([1.5, NAN])) is None
    assert evaluate("convert", "s32", z).tolist() == [1, 0]
    assert evaluate("convert", "c128", values("bf16", [2.0])).tolist() == [2 + 0j]


# ------------------------------------------------------------------------ reduce-precision


@pytest.mark.parametrize(
    ("numbers", "bits", "want"),
    [
        ([1e6, 1e-9, NAN, INF, 1.1], (5, 2), [INF, 0.0, NAN, INF, 1.0]),
        ([-1e6, -1e-9, -0.0], (5, 2), [-INF, -0.0, -0.0]),
        ([2**-14, 2**-15, 1.999999, 1.25, 1.75], (5, 1), [2**-14, 0.0, 2.0, 1.0, 2.0]),
        ([3.0, 1.5, NAN, 0.0, 1e30], (5, 0), [2.0, 2.0, NAN, 0.0, INF]),
        ([1e-40, 1.1], (11, 52), [1e-40, 1.1]),
    ],
)
def test_reduce_precision(numbers: Any, bits: tuple[int, int], want: Any) -> None:
    x = values("f32", numbers)
    got = evaluate("reduce-precision", "f32", x, exponent_bits=bits[0], mantissa_bits=bits[1])
    assert compare(got, values("f32", want)) is None


@pytest.mark.parametrize(
    ("source", "target", "bits"),
    [("f32", "bf16", (8, 7)), ("f32", "f16", (5, 10)), ("f64", "f32", (8, 23)),
     ("f32", "f8e5m2", (5, 2)), ("f16", "f8e4m3", (4, 3)), ("bf16", "f8e3m4", (3, 4))],
)  # fmt: skip
@given(number=st.floats(width=32, allow_subnormal=False))
def test_reduce_precision_is_a_conversion_and_back(
    source: str, target: str, bits: tuple[int, int], number: float
) -> None:
    x = values(source, [number])
    with np.errstate(all="ignore"):
        there = x.astype(TYPES[target].dtype).astype(x.dtype)
    # The smaller format has subnormals of its own, which are 0 here; what rounds up to its
    # smallest normal number is normal.
    smallest = float(ml_dtypes.finfo(TYPES[target].dtype).smallest_normal)
    got = evaluate("reduce-precision", source, x, exponent_bits=bits[0], mantissa_bits=bits[1])
    if abs(float(x[0])) < smallest:
        assert abs(float(got[0])) in (0.0, smallest)
    else:
        assert compare(got, there) is None


# ---------------------------------------------------------------------- stochastic-convert


def test_stochastic_convert_by_the_fraction() -> None:
    x = values("f32", [2.25, 2.25, -2.25, -2.25, 3.0, 3.0])
    random = values("u32", [2**30 - 1, 2**30, 2**30 - 1, 2**30, 0, 2**32 - 1])
    assert evaluate("stochastic-convert", "s32", x, random).tolist() == [3, 2, -3, -2, 3, 3]


def test_stochastic_convert_at_the_ends() -> None:
    x = values("f32", [NAN, INF, -INF, 127.5, -128.5, 1e9])
    got = evaluate("stochastic-convert", "s8", x, values("u32", [0] * 6))
    assert got.tolist() == [0, 127, -128, 127, -128, 127]


def test_stochastic_convert_is_right_on_average() -> None:
    x = np.full(2**16, 0.3, ml_dtypes.bfloat16)
    random = np.arange(2**16, dtype=np.uint16)
    got = evaluate("stochastic-convert", "s32", x, random)
    assert got.mean() == float(x[0])


def test_stochastic_convert_to_floats_has_no_meaning() -> None:
    with pytest.raises(HloError) as caught:
        evaluate("stochastic-convert", "bf16", np.float32([1.5]), np.uint32([3]))
    assert caught.value.code == "HLO101"
