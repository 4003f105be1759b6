"""Custom calls: placement, selection, random numbers, the registry."""

from typing import Any

import numpy as np
import pytest
from custom_calls import call, matrix, permuted

import interpreter
from hlo.errors.error import HloError
from hlo.read.parse import parse
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import CUSTOM_CALLS


def test_lu_pivots_to_permutation() -> None:
    a = matrix("d", 2, 5, 3)
    _, pivots, _ = call("lapack_dgetrf_ffi", "(f64[2,5,3], s32[2,3], s32[2])", a)
    got = call("cu_lu_pivots_to_permutation", "s32[2,5]", pivots - 1)
    for x, rows, one in zip(a, got, pivots, strict=True):
        np.testing.assert_array_equal(x[rows], permuted(x, one))


def test_a_row_that_does_not_exist_is_exchanged_with_none() -> None:
    pivots = np.int32([[4, 2, 2], [-1, 3, 7]])
    got = call("cu_lu_pivots_to_permutation", "s32[2,4]", pivots)
    np.testing.assert_array_equal(got, [[0, 2, 1, 3], [0, 3, 2, 1]])


def test_threefry_gives_the_numbers_of_its_authors() -> None:
    # Random123's known answers, the line "threefry2x32 20" of all ones.
    ones = np.full(1, 2**32 - 1, np.uint32)
    got = call("cu_threefry2x32_ffi", "(u32[1], u32[1])", ones, ones, ones, ones)
    np.testing.assert_array_equal(got, [[0x1CB996FC], [0xBB002BE7]])


@pytest.mark.parametrize(
    "target",
    [
        *("Sharding", "MoveToHost", "LayoutConstraint", "xla_mark_tensor"),
        "AwsNeuronTransferWithStaticRing",
    ],
)
def test_placement_leaves_the_value(target: str) -> None:
    x = matrix("s", 3)
    np.testing.assert_array_equal(call(target, "f32[3]", x), x)


def test_a_group_of_values_that_are_divided_alike_is_no_value() -> None:
    assert call("xla.sdy.ShardingGroup", "()", matrix("s", 3)) == ()


def test_a_shard_of_another_shape_needs_a_partitioned_module() -> None:
    with pytest.raises(HloError) as caught:
        call("SPMDFullToShardShape", "f32[2]", matrix("s", 4))
    assert caught.value.code == "HLO122"


@pytest.mark.parametrize(
    ("target", "shape", "letters", "backend", "told"),
    [
        ("SPMDFullToShardShape", "(f32[3], s32[])", "s", "", "1 operand, 2 results"),
        ("interpreter.run_parallel", "f32[3]", "s", "", "the numbers `replicas` and `partitions`"),
        ("interpreter.run_parallel", "f32[3]", "s", "{replicas = 2 : i64, partitions = 1 : i64}",
         "calls 0 computations on 2 devices"),
        ("check.expect_eq", "()", "s", "", "takes 2 arrays of one type"),
        ("check.expect_eq", "()", "sd", "", "takes 2 arrays of one type"),
        ("check.expect_almost_eq", "()", "ss", '{tolerance = "x"}', "a number as `tolerance`"),
        ("check.expect_serialized_eq", "()", "s", '{iter = "x"}', "a number as `iter`"),
    ],
)  # fmt: skip
def test_operands_and_options_of_checks_are_checked(target, shape, letters, backend, told) -> None:
    with pytest.raises(HloError, match=told) as caught:
        call(target, shape, *(matrix(letter, 3) for letter in letters), backend=backend)
    assert caught.value.code == "HLO122"


def test_top_k() -> None:
    x = np.array([[3, 1, 2, 3], [-1, 0, -0.0, np.nan]], np.float32)
    values, indices = call("TopK", "(f32[2,2], s32[2,2])", x)
    np.testing.assert_array_equal(values, [[3, 3], [np.nan, 0]])
    np.testing.assert_array_equal(indices, [[0, 3], [3, 1]])


def test_approximate_top_k_along_a_dimension() -> None:
    module = parse("""HloModule m
greater { a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT g = pred[] compare(a, b), direction=GT }
ENTRY main { x = f32[4,2] parameter(0)
  i = s32[4,2] iota(), iota_dimension=0
  low = f32[] constant(-inf)
  none = s32[] constant(-1)
  ROOT r = (f32[2,2], s32[2,2]) custom-call(x, i, low, none), custom_call_target="ApproxTopK",
    called_computations={greater}, backend_config={"reduction_dim":0,"top_k":2,"recall_target":0.9}
}""")
    x = matrix("s", 4, 2)
    values, indices = interpreter.evaluate(module, x)
    order = np.argsort(-x, axis=0)[:2]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 0))


def test_an_unknown_target_says_how_to_register_one() -> None:
    with pytest.raises(HloError) as caught:
        call("lapack_spotf_ffi", "f32[]", matrix("s"))
    assert caught.value.code == "HLO121"
    assert caught.value.notes[0] == "did you mean `lapack_spotrf_ffi`?"
    assert "custom_call('lapack_spotf_ffi')" in caught.value.notes[1]


def test_a_function_can_be_registered() -> None:
    try:

        @interpreter.custom_call("my_scale")
        def scale(_frame: object, instr: Any, x: Any) -> Any:
            return x * np.float32(config(instr)["by"])

        got = call("my_scale", "f32[2]", np.array([1, 2], np.float32), backend="{by = 3 : i32}")
        np.testing.assert_array_equal(got, [3, 6])
        with pytest.raises(KeyError, match="defined twice"):
            interpreter.custom_call("my_scale")(scale)
    finally:
        CUSTOM_CALLS.pop("my_scale", None)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (np.float32([1, 2]), "f32[3]"),
        (np.float64([1, 2]), "f32[2]"),
        (np.float32(1), "f32[1]"),
        ((np.float32(1),), "(f32[], f32[])"),
        ((np.float32(1), np.int32(1)), "(f32[], f32[])"),
        (1.5, "f32[]"),
    ],
)
def test_a_result_must_have_the_shape_of_the_call(
    value: Any, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CUSTOM_CALLS, "test", lambda _frame, _instr: value)
    module = parse(f'ENTRY e {{ ROOT c = {shape} custom-call(), custom_call_target="test" }}')
    with pytest.raises(HloError, match="test yields") as caught:
        interpreter.evaluate(module)
    assert caught.value.code == "HLO122"


def test_a_call_of_too_few_operands_is_refused(monkeypatch) -> None:
    """The function is not blamed for what the call lacks."""
    monkeypatch.setitem(CUSTOM_CALLS, "sum", lambda _frame, _instr, x, y: x + y)
    module = parse(
        "ENTRY e { c = f32[4] parameter(0)  "
        'ROOT r = f32[4] custom-call(c), custom_call_target="sum" }'
    )
    with pytest.raises(HloError, match="does not take 1 operand: missing") as caught:
        interpreter.evaluate(module, np.ones(4, np.float32))
    assert caught.value.code == "HLO122"
