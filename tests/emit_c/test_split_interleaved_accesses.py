"""Several columns of an array are accessed around a loop in lanes; C gives the same values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies.compiled import check

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES


def of_columns(rows: int, stride: int, columns: list[int], kind: str) -> hlo.Module:
    """Functions of some columns, put together in others, and their sum."""
    lines = [f"x = {kind}[{rows},{stride}] parameter(0)"]
    for k, column in enumerate(columns):
        last = "f1" if k > 1 else "c0"
        lines += [
            f"slice{k} = {kind}[{rows},1] slice(x), slice={{[0:{rows}], [{column}:{column + 1}]}}",
            f"c{k} = {kind}[{rows}] reshape(slice{k})",
            f"f{k} = {kind}[{rows}] multiply(c{k}, {last})",
            f"r{k} = {kind}[{rows},1] reshape(f{k})",
        ]
    every = ", ".join(f"r{k}" for k in range(len(columns)))
    inside = "\n  ".join(lines)
    return hlo.parse(f"""HloModule columns
ENTRY e {{
  {inside}
  ROOT all = {kind}[{rows},{len(columns)}] concatenate({every}), dimensions={{1}}
}}""")


@given(
    rows=st.integers(1, 200),
    stride=st.integers(5, 40),
    columns=st.lists(st.integers(0, 4), min_size=1, max_size=9),
    kind=st.sampled_from(["f32", "f64", "u8", "s16", "bf16", "c64"]),
)
def test_values(rows, stride, columns, kind):
    module = of_columns(rows, stride, columns, kind)
    numbers = np.random.default_rng(rows).integers(0, 12, (rows, stride))
    x = numbers.astype(ELEMENT_TYPES[kind].dtype)
    check(module, optimize=True, arguments=(x,))


@pytest.mark.parametrize("kind", ["f32", "f64", "u8"])
@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_columns_that_are_rolled(columns, start, kind):
    """Three were wrong from the second vector on: gcc used the masks of the first."""
    module = hlo.parse(f"""HloModule rolled
ENTRY e {{
  x = {kind}[200,{columns}] parameter(0)
  at = s32[] parameter(1)
  zero = s32[] constant(0)
  twice = {kind}[200,{2 * columns}] concatenate(x, x), dimensions={{1}}
  ROOT r = {kind}[200,{columns}] dynamic-slice(twice, zero, at),
    dynamic_slice_sizes={{200,{columns}}}
}}""")
    x = np.arange(200 * columns).reshape(200, columns).astype(ELEMENT_TYPES[kind].dtype)
    at = np.int32(min(start, columns))
    np.testing.assert_array_equal(np.asarray(emit_c.compile(module)(x, at)), np.roll(x, -at, 1))
