"""Dimensions whose size is known only at run time."""

import numpy as np
import pytest

import interpreter
from hlo.errors.error import HloError
from hlo.read.parse import parse


def run(body: str, *arguments: object) -> object:
    return interpreter.evaluate(parse("HloModule m\nENTRY main {\n" + body + "\n}"), *arguments)


SET = """
  x = f32[5] parameter(0)
  n = s32[] parameter(1)
  ROOT y = f32[<=5] set-dimension-size(x, n), dimensions={0}"""


@pytest.mark.parametrize("size", range(6))
def test_a_set_size_cuts_the_array(size: int) -> None:
    got = run(SET, [1.0, 2.0, 3.0, 4.0, 5.0], size)
    np.testing.assert_array_equal(got, np.arange(1, size + 1))


@pytest.mark.parametrize(("size", "count"), [(-1, 0), (6, 5), (2**31 - 1, 5)])
def test_a_size_beyond_the_bound_is_the_bound(size: int, count: int) -> None:
    assert run(SET, [1.0] * 5, size).tolist() == [1.0] * count


@pytest.mark.parametrize("size", [-1, 0, 2, 5, 6])
def test_a_dimension_that_is_declared_static_keeps_its_elements(size: int) -> None:
    assert run(SET.replace("<=5", "5"), [1.0] * 5, size).tolist() == [1.0] * 5


def test_the_size_is_the_actual_one() -> None:
    body = """
  x = f32[2,<=5] parameter(0)
  ROOT n = s32[] get-dimension-size(x), dimensions={1}"""
    got = run(body, np.zeros((2, 3), np.float32))
    assert got == 3
    assert got.dtype == np.int32


def test_a_dimension_set_back_to_its_bound_is_padded_with_zeros() -> None:
    body = """
  x = f32[<=4] parameter(0)
  n = s32[] constant(4)
  ROOT y = f32[4] set-dimension-size(x, n), dimensions={0}"""
    np.testing.assert_array_equal(run(body, [1.0, 2.0]), [1, 2, 0, 0])


RESHAPE = """
  x = s32[<=24] parameter(0)
  m = s32[] parameter(1)
  n = s32[] parameter(2)
  ROOT y = s32[<=6,<=4] dynamic-reshape(x, m, n)"""


@pytest.mark.parametrize("dims", [(2, 3), (3, 2), (6, 1)])
def test_a_dynamic_reshape_keeps_the_order(dims: tuple[int, int]) -> None:
    got = run(RESHAPE, list(range(6)), *dims)
    np.testing.assert_array_equal(got, np.arange(6).reshape(dims))


def test_a_dynamic_reshape_to_another_number_of_elements_is_an_error() -> None:
    with pytest.raises(HloError, match="not as many elements"):
        run(RESHAPE, list(range(6)), 2, 2)


def test_a_dynamic_reshape_stays_within_the_bounds() -> None:
    with pytest.raises(HloError, match=r"\[1, 6\] is beyond the bounds of s32\[<=6,<=4\]"):
        run(RESHAPE, list(range(6)), 1, 6)


@pytest.mark.parametrize(
    ("sizes", "before", "after", "expected"),
    [
        ((3, 2), "<=4,<=5", "<=4,1,<=5", (3, 1, 2)),
        ((3, 2), "<=4,<=5", "<=20", (6,)),
        ((6, 3), "<=8,<=4", "<=4,2,<=4", (3, 2, 3)),
        ((3, 2), "<=4,<=4", "<=4,<=4", (3, 2)),
        ((0, 1), "<=1,<=3", "<=1,<=3,1", (0, 1, 1)),
        ((3, 4), "<=4,4", "2,<=8", (2, 6)),
    ],
)
def test_a_reshape_keeps_the_sizes_of_what_stays(sizes, before, after, expected) -> None:
    body = f"""
  x = f32[{before}] parameter(0)
  ROOT y = f32[{after}] reshape(x)"""
    x = np.arange(np.prod(sizes), dtype=np.float32)
    np.testing.assert_array_equal(run(body, x.reshape(sizes)), x.reshape(expected))


def test_gathered_windows_are_as_large_as_the_operand() -> None:
    body = """
  x = f32[<=5,4] parameter(0)
  i = s32[2] constant({3,1})
  ROOT y = f32[<=5,2] gather(x, i), offset_dims={0}, collapsed_slice_dims={1},
    start_index_map={1}, index_vector_dim=1, slice_sizes={5,1}"""
    for size in (0, 2, 5):
        x = np.arange(size * 4, dtype=np.float32).reshape(size, 4)
        np.testing.assert_array_equal(run(body, x), x[:, [3, 1]])


def test_arrays_that_are_folded_together_are_cut_to_one_size() -> None:
    both = """HloModule m
first {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GE
  c = f32[] select(more, a, b)
  k = s32[] select(more, i, j)
  ROOT t = (f32[], s32[]) tuple(c, k)
}
ENTRY main {
  x = f32[<=5] parameter(0)
  n = s32[5] iota(), iota_dimension=0
  low = f32[] constant(-inf)
  none = s32[] constant(-1)
  ROOT r = (f32[], s32[]) reduce(x, n, low, none), dimensions={0}, to_apply=first
}"""
    largest, place = interpreter.evaluate(parse(both), np.array([1, 4, 2], np.float32))
    assert (largest, place) == (4, 1)


def test_there_may_be_no_transforms() -> None:
    body = """
  x = c64[<=3,4] parameter(0)
  ROOT y = c64[<=3,4] fft(x), fft_type=FFT, fft_length={4}"""
    got = run(body, np.zeros((0, 4), np.complex64))
    assert np.shape(got) == (0, 4)
