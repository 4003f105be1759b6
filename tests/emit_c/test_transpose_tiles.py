"""Tiles that are read transposed are turned by shuffles; C gives the same values."""

import numpy as np
import pytest

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare


@pytest.mark.parametrize("rows", [16, 48, 50, 128])
@pytest.mark.parametrize("columns", [32, 60, 64])
@pytest.mark.parametrize("kind", ["pred", "u8", "bf16", "f32", "s64", "c64", "c128"])
def test_transpositions(kind, rows, columns):
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {kind}[3,{rows},{columns}] parameter(0)
  y = {kind}[3,{columns},{rows}] parameter(1)
  t = {kind}[3,{columns},{rows}] transpose(x), dimensions={{0,2,1}}
  c = pred[3,{columns},{rows}] compare(t, y), direction=EQ
  ROOT r = (pred[3,{columns},{rows}], {kind}[3,{columns},{rows}]) tuple(c, t)
}}""")
    made = np.random.default_rng(rows)
    dtype = ELEMENT_TYPES[kind].dtype
    x = made.integers(0, 3, (3, rows, columns)).astype(dtype)
    y = made.integers(0, 3, (3, columns, rows)).astype(dtype)
    for mine, meant in zip(emit_c.compile(module)(x, y), evaluate(module, x, y), strict=True):
        assert compare(mine, meant, BITS) is None
