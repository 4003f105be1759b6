"""Loops in lanes that load from one of two places choose the address before."""

import pytest
from strategies.compiled import check, whole


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_products_with_rolled_rows(kind):
    module = f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] add(a, b) }}
ENTRY e {{
  x = {kind}[20,128,50] parameter(0)
  l = {kind}[20,80,50] slice(x), slice={{[0:20],[48:128],[0:50]}}
  r = {kind}[20,48,50] slice(x), slice={{[0:20],[0:48],[0:50]}}
  n = {kind}[20,128,50] concatenate(l, r), dimensions={{1}}
  p = {kind}[20,128,50] multiply(x, n)
  z = {kind}[] constant(0)
  ROOT s = {kind}[20,128] reduce(p, z), dimensions={{2}}, to_apply=f
}}"""
    executable = check(module, optimize=True, arguments=whole(-9, 9))
    assert "offset = i_1 < 80 ? 2400 : -4000;" in executable.source
