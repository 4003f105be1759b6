"""Loops in lanes whose choice is the same for all iterations are written once for each side."""

import numpy as np
import pytest

import emit_c
import hlo
from interpreter import evaluate


@pytest.mark.parametrize("size", [3, 100, 200_000])
@pytest.mark.parametrize("chosen", [False, True])
def test_values_stay(size, chosen):
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = s32[{size}] parameter(0)
  c = pred[] parameter(1)
  k = s32[] constant(7)
  ks = s32[{size}] broadcast(k), dimensions={{}}
  cs = pred[{size}] broadcast(c), dimensions={{}}
  i = s32[{size}] iota(), iota_dimension=0
  d = s32[{size}] divide(x, i)
  r = s32[{size}] remainder(d, ks)
  ROOT s = s32[{size}] select(cs, r, x)
}}""")
    x = np.random.default_rng(0).integers(-(2**31), 2**31, size, dtype=np.int32)
    made, right = (
        run(x, np.bool_(chosen))
        for run in (emit_c.compile(module), lambda *a: evaluate(module, *a))
    )
    np.testing.assert_array_equal(made, right)
