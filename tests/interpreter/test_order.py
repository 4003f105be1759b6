"""Sort and topk: against Python's own stable sort."""

from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import SIZES, run, seeds, specials, wholes
from single import all_values, values

from hlo.types.element_type import ARRAY_TYPES, ELEMENT_TYPES
from interpreter.numbers.compare import compare
from interpreter.order import first_in_order, stable_order

BY_FIRST = """
order {{
  x = {type}[] parameter(0)
  y = {type}[] parameter(1)
  a = s32[] parameter(2)
  b = s32[] parameter(3)
  ROOT r = pred[] compare({sides}), direction={direction}{kind}
}}
"""
# The larger absolute value first, by a key that is computed.
BY_KEY = """
order {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  a = s32[] parameter(2)
  b = s32[] parameter(3)
  s = f32[] abs(x)
  t = f32[] abs(y)
  ROOT r = pred[] compare(s, t), direction=GT
}
"""
# By absolute value, then by falling number: no single key.
BY_TWO_KEYS = """
order {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  a = s32[] parameter(2)
  b = s32[] parameter(3)
  s = f32[] abs(x)
  t = f32[] abs(y)
  less = pred[] compare(s, t), direction=LT
  equal = pred[] compare(s, t), direction=EQ
  later = pred[] compare(a, b), direction=GT
  second = pred[] and(equal, later)
  ROOT r = pred[] or(less, second)
}
"""
KEYS: dict[str, Any] = {
    BY_KEY: lambda x, _: -abs(x),
    BY_TWO_KEYS: lambda x, a: (abs(x), -a),
    BY_FIRST.format(type="f32", sides="x, y", direction="LT", kind=""): lambda x, _: x,
    BY_FIRST.format(type="f32", sides="y, x", direction="LT", kind=""): lambda x, _: -x,
    BY_FIRST.format(type="f32", sides="a, b", direction="GT", kind=""): lambda _, a: -a,
}


@given(st.integers(0, 40), SIZES, st.sampled_from([0, 1]), st.sampled_from(list(KEYS)), seeds)
def test_sort(n: int, others: int, axis: int, comparator: str, seed: int) -> None:
    dims = [others, others]
    dims[axis] = n
    keys = wholes(seed, dims)
    numbers = np.random.default_rng(seed).integers(0, 3, dims).astype(np.int32)
    text = f"sort(p0, p1), dimensions={{{axis}}}, is_stable=true, to_apply=order"
    got = run(text, keys, numbers, computations=comparator)
    moved = [np.moveaxis(x, axis, -1) for x in (keys, numbers, *got)]
    for x, a, sorted_x, sorted_a in zip(*moved, strict=True):
        pairs = sorted(zip(x.tolist(), a.tolist(), strict=True), key=lambda p: KEYS[comparator](*p))
        assert list(zip(sorted_x.tolist(), sorted_a.tolist(), strict=True)) == pairs


@given(st.integers(0, 40), st.sampled_from(["LT", "GT"]), seeds)
def test_sort_in_total_order(n: int, direction: str, seed: int) -> None:
    keys, numbers = specials(seed, n), np.arange(n, dtype=np.int32)
    comparator = BY_FIRST.format(
        type="f32", sides="x, y", direction=direction, kind=", type=TOTALORDER"
    )
    text = "sort(p0, p1), dimensions={0}, to_apply=order"
    got, order = run(text, keys, numbers, computations=comparator)

    def total(x: Any) -> tuple[bool, float, bool]:
        return (bool(np.isnan(x)), 0 if np.isnan(x) else float(x), not np.signbit(x))

    want = sorted(range(n), key=lambda i: total(keys[i]), reverse=direction == "GT")
    assert compare(keys[want], got) is None
    assert compare(keys[order], got) is None


def test_a_comparator_that_contradicts_itself_loses_nothing() -> None:
    keys, numbers = specials(3, 33), np.arange(33, dtype=np.int32)
    comparator = BY_FIRST.format(type="f32", sides="x, y", direction="LT", kind="")
    text = "sort(p0, p1), dimensions={0}, to_apply=order"
    got, order = run(text, keys, numbers, computations=comparator)
    assert sorted(order.tolist()) == list(range(33))
    assert compare(keys[order], got) is None


def test_sort_compares_what_a_mixed_comparator_says() -> None:
    # LE puts equal elements in either order; the sorted keys are the same.
    keys, numbers = wholes(5, 50), np.arange(50, dtype=np.int32)
    comparator = BY_FIRST.format(type="f32", sides="x, y", direction="LE", kind="")
    text = "sort(p0, p1), dimensions={0}, to_apply=order"
    got, order = run(text, keys, numbers, computations=comparator)
    assert got.tolist() == sorted(keys.tolist())
    assert sorted(order.tolist()) == list(range(50))


@pytest.mark.parametrize("name", [t.name for t in ARRAY_TYPES if t.kind != "complex"])
def test_sort_of_every_type(name: str) -> None:
    target = ELEMENT_TYPES[name]
    if target.bits <= 8 and name != "pred":
        row = all_values(name)[::-1].copy()
        row = row[~np.isnan(row.astype(np.float32))]
    else:
        row = values(name, [3, 0, 2, 1, 0])
    comparator = BY_FIRST.format(type=name, sides="x, y", direction="LT", kind="")
    text = "sort(p0, p1), dimensions={0}, is_stable=true, to_apply=order"
    got, _ = run(text, row, np.arange(len(row), dtype=np.int32), computations=comparator)
    want = sorted(row, key=cmp_to_key(lambda x, y: int(x > y) - int(x < y)))
    assert compare(np.array(want, row.dtype), got) is None


@given(st.integers(0, 12), st.integers(1, 3), st.booleans(), st.data(), seeds)
def test_topk(n: int, rows: int, largest: bool, data: st.DataObject, seed: int) -> None:
    k = data.draw(st.integers(0, n))
    operand = specials(seed, (rows, n))
    text = f"(f32[{rows},{k}], s32[{rows},{k}]) topk(p0), k={k}, largest={str(largest).lower()}"
    got, indices = run(text, operand)
    for row, best, at in zip(operand, got, indices, strict=True):
        # NaN is the largest and -0 is below 0; of equal elements the first comes first.
        rank = {
            i: (bool(np.isnan(x)), 0 if np.isnan(x) else float(x), not np.signbit(x))
            for i, x in enumerate(row)
        }
        want = sorted(range(n), key=lambda i, rank=rank: rank[i], reverse=largest)[:k]
        assert at.tolist() == want
        assert compare(row[want], best) is None


@given(st.integers(0, 40), st.integers(1, 4), st.booleans(), st.data(), seeds)
def test_the_first_of_many_equal_keys_are_those_of_a_whole_sort(
    n: int, distinct: int, descending: bool, data: st.DataObject, seed: int
) -> None:
    """Equal keys reach over the k-th place, where a partition alone would choose any of them."""
    k = data.draw(st.integers(0, n))
    keys = np.random.default_rng(seed).integers(0, distinct, (2, 3, n))
    whole = stable_order(keys, descending=descending)
    got = first_in_order(keys, k, descending=descending)
    np.testing.assert_array_equal(got, whole[..., :k])
