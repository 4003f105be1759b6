"""The comparison of results: what each promise forgives, and what a difference tells."""

import math
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from single import all_values, values

from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import (
    BITS,
    FINITE,
    PROMISES,
    ROUNDING,
    ZERO_SIGN,
    Promise,
    compare,
    flushed,
)

INF, NAN = math.inf, math.nan
ARRAY_TYPES = [name for name, t in ELEMENT_TYPES.items() if t.is_array]
# A pair that breaks each promise, and the weaker one that it keeps.
BROKEN = [
    (BITS, ZERO_SIGN, [1.0, -0.0], [1.0, 0.0]),
    (ZERO_SIGN, FINITE, [1.0, NAN], [1.0, INF]),
    (FINITE, ROUNDING, [1.0, 3.0], [1.0, 3.0000002]),
]


@pytest.mark.parametrize(("promise", "weaker", "got", "want"), BROKEN)
def test_promises_forgive_no_more_than_they_say(
    promise: Promise, weaker: Promise, got: list[float], want: list[float]
) -> None:
    x, y = values("f32", got), values("f32", want)
    assert compare(x, y, weaker) is None
    difference = compare(x, y, promise)
    assert difference is not None
    assert (difference.index, difference.count, difference.size) == ((1,), 1, 2)


def test_promises_are_ordered() -> None:
    line = list(PROMISES.values())
    for i, strong in enumerate(line):
        assert [strong.keeps(weak) for weak in line] == [i <= j for j in range(len(line))]
    assert ZERO_SIGN | FINITE == FINITE
    assert (BITS.within(2) | ZERO_SIGN.within(3)) == ZERO_SIGN.within(5)
    assert [str(p) for p in line] == [
        "BITS",
        "ZERO_SIGN",
        "FINITE",
        "ROUNDING",
        "LOSSY",
        "MAGNITUDE",
    ]
    assert str(ZERO_SIGN.within(5)) == "Promise(zero_sign, ulps=5)"


@pytest.mark.parametrize("element_type", ARRAY_TYPES)
def test_equal_and_different_of_every_type(element_type: str) -> None:
    x, y = values(element_type, [1, 0, 1]), values(element_type, [1, 1, 1])
    assert compare(x, x.copy()) is None
    difference = compare(x, y)
    assert difference is not None
    assert difference.index == (1,)
    assert difference.want == y[1]


@pytest.mark.parametrize("element_type", [n for n, t in ELEMENT_TYPES.items() if t.is_floating])
def test_ulps_count_the_numbers_between(element_type: str) -> None:
    target = ELEMENT_TYPES[element_type]
    if target.bits == 8 or element_type == "f4e2m1fn":
        every = all_values(element_type)
    else:
        every = values(element_type, [-3.0, -1.0, 0.0, 1.0, 1.5])
        every = np.concatenate([every, np.nextafter(every, np.asarray(INF, every.dtype))])
    every = every[np.isfinite(every.astype(np.float64))]
    line = every[np.argsort(every.astype(np.float64))]
    line = line[np.concatenate([[True], np.diff(line.astype(np.float64)) > 0])]
    if target.bits > 8:
        neighbours = [(x, np.nextafter(x, np.asarray(INF, line.dtype))) for x in line]
    else:
        neighbours = list(pairwise(line))
    for low, high in neighbours:
        difference = compare(np.asarray(low), np.asarray(high))
        assert difference is not None
        assert difference.ulps == 1
        assert compare(np.asarray(low), np.asarray(high), ZERO_SIGN.within(1)) is None
        assert compare(np.asarray(low), np.asarray(high), ZERO_SIGN) is not None


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_ulps_are_symmetric_and_fit(x: float, y: float) -> None:
    a, b = np.asarray(x), np.asarray(y)
    there, back = compare(a, b), compare(b, a)
    if there is None or back is None:
        assert there is back
    else:
        assert there.ulps == back.ulps
        assert (there.ulps == 0) == (x == y)


def test_any_nan_is_any_nan() -> None:
    bits = np.array([0x7FC00000, 0x7F800001], np.uint32).view(np.float32)
    assert compare(bits, bits[::-1]) is None
    assert compare(-bits, bits) is None


def test_infinity_is_no_rounding() -> None:
    largest = np.asarray(np.finfo(np.float32).max)
    difference = compare(np.asarray(np.float32(INF)), largest, BITS.within(8))
    assert difference is not None
    assert difference.ulps == 1


def test_rounding_is_little_in_every_type() -> None:
    for element_type in ("f8e5m2", "f8e4m3fn", "bf16", "f16", "f32", "f64"):
        one = values(element_type, [1.0])
        assert compare(values(element_type, [1.25]), one, ROUNDING.within(10**18)) is None
        assert compare(values(element_type, [1.5]), one, ROUNDING.within(10**18)) is not None


def test_of_largest_measures_by_the_largest_number() -> None:
    want = values("f32", [1000.0, 0.001])
    got = values("f32", [1000.0, 0.002])
    assert compare(got, want, BITS.within(16)) is not None
    assert compare(got, want, Promise(ulps=16, of_largest=True)) is None
    assert compare(values("f32", [1000.0, 0.01]), want, Promise(ulps=16, of_largest=True))


def test_of_largest_does_not_forgive_the_sign_of_zero() -> None:
    got, want = values("f32", [5.0, -0.0]), values("f32", [5.0, 0.0])
    assert compare(got, want, Promise(ulps=4, of_largest=True)) is not None
    assert compare(got, want, Promise(ulps=4, of_largest=True, zero_sign=True)) is None


def test_differences_in_nested_tuples() -> None:
    x, y = values("s32", [[1, 2], [3, 4]]), values("s32", [[1, 2], [3, 9]])
    want = (x, (None, y), ())
    assert compare((x.copy(), (None, y.copy()), ()), want) is None
    difference = compare((x, (None, x), ()), want)
    assert difference is not None
    assert (difference.path, difference.index) == ((1, 1), (1, 1))
    assert (difference.got, difference.want, difference.ulps) == (4, 9, 5)
    assert str(difference) == "{1}{1}[1,1]: 4 instead of 9; 1 of 4 elements differ (up to 5 ulps)"


@pytest.mark.parametrize(
    ("got", "want", "reason"),
    [
        (np.zeros(2, np.float32), np.zeros(3, np.float32), "f32[2] instead of f32[3]"),
        (np.zeros(2, np.float32), np.zeros(2), "f32[2] instead of f64[2]"),
        (np.zeros(()), (np.zeros(()),), "f64[] instead of nothing"),
        ((np.zeros(()),), (np.zeros(()), None), "{1}: nothing instead of token[]"),
        (None, (), "token[] instead of ()"),
    ],
)
def test_shapes_and_structures_must_agree(got: Any, want: Any, reason: str) -> None:
    difference = compare(got, want, ROUNDING)
    assert difference is not None
    assert str(difference) == reason


def test_complex_elements_differ_if_a_part_does() -> None:
    x = values("c64", [1 + 2j, 3 + 4j, 5 + 6j])
    y = values("c64", [1 + 2j, 3 + 5j, 6 + 7j])
    difference = compare(x, y)
    assert difference is not None
    assert (difference.index, difference.count, difference.size) == ((1,), 2, 3)
    assert difference.got == 3 + 4j
    zeros = values("c64", [complex(0.0, -0.0)])
    assert compare(zeros, values("c64", [0j])) is not None
    assert compare(zeros, values("c64", [0j]), ZERO_SIGN) is None


def test_empty_arrays_are_equal() -> None:
    assert (
        compare(np.zeros((0, 3), ml_dtypes.bfloat16), np.zeros((0, 3), ml_dtypes.bfloat16)) is None
    )
    assert compare(np.zeros((0,)), np.zeros((0,)), ROUNDING) is None


def test_tolerances_are_those_of_allclose() -> None:
    want = np.array([1.0, 100.0, 0.0, np.inf, np.nan], np.float32)
    near = np.array([1.001, 100.1, 0.001, np.inf, np.nan], np.float32)
    assert compare(near, want, Promise(rtol=1.1e-3, atol=1.1e-3)) is None
    assert compare(near, want, Promise(atol=1.1e-3)).count == 1
    assert compare(near, want, Promise(rtol=1.1e-3)).count == 1
    assert compare(-near[3:4], want[3:4], Promise(rtol=1.0, atol=1.0)) is not None
    loose = Promise(rtol=1e-3) | Promise(atol=1e-2)
    assert Promise(rtol=1e-3).keeps(loose)
    assert not loose.keeps(Promise(rtol=1e-3))
    assert str(loose) == "Promise(atol=0.01, rtol=0.001)"


def test_flushed_numbers_are_zeros() -> None:
    """Where one side flushes, subnormal numbers are equal to zeros and to each other."""
    want = np.array([1e-40, -1e-40, 0.0, 1e-40, 1.0], np.float32)
    got = np.array([0.0, -0.0, 1e-45, 2e-40, 1.0], np.float32)
    assert compare(got, want).count == 4
    assert compare(got, want, Promise(flushed=True)) is None
    assert flushed((want, None, (got,)), (got, None, (got,))) == 4
    normal = np.array([2e-38], np.float32)
    assert compare(np.zeros_like(normal), normal, Promise(flushed=True)) is not None
    # A half is computed in single precision, where its subnormal numbers are normal.
    half = np.array([1e-7], np.float16)
    assert compare(np.zeros_like(half), half, Promise(flushed=True)) is not None
    assert flushed(np.zeros_like(half), half) == 0
    assert not Promise(flushed=True).keeps(BITS)
