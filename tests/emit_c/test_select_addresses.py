"""Loops in lanes that load from one of two places choose the address before."""

import numpy as np
import pytest

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_products_with_rolled_rows(kind):
    module = hlo.parse(f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] add(a, b) }}
ENTRY e {{
  x = {kind}[20,128,50] parameter(0)
  l = {kind}[20,80,50] slice(x), slice={{[0:20],[48:128],[0:50]}}
  r = {kind}[20,48,50] slice(x), slice={{[0:20],[0:48],[0:50]}}
  n = {kind}[20,128,50] concatenate(l, r), dimensions={{1}}
  p = {kind}[20,128,50] multiply(x, n)
  z = {kind}[] constant(0)
  ROOT s = {kind}[20,128] reduce(p, z), dimensions={{2}}, to_apply=f
}}""")
    dtype = ELEMENT_TYPES[kind].dtype
    x = np.random.default_rng(0).integers(-9, 9, (20, 128, 50)).astype(dtype)
    executable = emit_c.compile(module)
    assert compare(executable(x), evaluate(module, x), BITS) is None
    assert "offset = i_1 < 80 ? 2400 : -4000;" in executable.source
