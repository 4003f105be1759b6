"""Dimensions whose size is known only at run time."""

import numpy as np
import pytest

import interpreter
from hlo.error import HloError
from hlo.parse import parse


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


@pytest.mark.parametrize("size", [-1, 6])
def test_a_size_beyond_the_bound_is_an_error(size: int) -> None:
    with pytest.raises(HloError, match="not within 0 and 5") as caught:
        run(SET, [1.0] * 5, size)
    assert caught.value.code == "HLO123"


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
  x = s32[6] parameter(0)
  m = s32[] parameter(1)
  n = s32[] parameter(2)
  ROOT y = s32[<=6,<=6] dynamic-reshape(x, m, n)"""


@pytest.mark.parametrize("dims", [(1, 6), (2, 3), (3, 2), (6, 1)])
def test_a_dynamic_reshape_keeps_the_order(dims: tuple[int, int]) -> None:
    got = run(RESHAPE, list(range(6)), *dims)
    np.testing.assert_array_equal(got, np.arange(6).reshape(dims))


def test_a_dynamic_reshape_to_another_number_of_elements_is_an_error() -> None:
    with pytest.raises(HloError, match="not as many elements"):
        run(RESHAPE, list(range(6)), 2, 2)
