"""Tiles that are read transposed are turned by shuffles; C gives the same values."""

import pytest
from strategies.compiled import check, whole


@pytest.mark.parametrize("rows", [16, 48, 50, 128])
@pytest.mark.parametrize("columns", [32, 60, 64])
@pytest.mark.parametrize("kind", ["pred", "u8", "bf16", "f32", "s64", "c64", "c128"])
def test_transpositions(kind, rows, columns):
    module = f"""HloModule m
ENTRY e {{
  x = {kind}[3,{rows},{columns}] parameter(0)
  y = {kind}[3,{columns},{rows}] parameter(1)
  t = {kind}[3,{columns},{rows}] transpose(x), dimensions={{0,2,1}}
  c = pred[3,{columns},{rows}] compare(t, y), direction=EQ
  ROOT r = (pred[3,{columns},{rows}], {kind}[3,{columns},{rows}]) tuple(c, t)
}}"""
    check(module, optimize=True, arguments=whole(0, 3))
