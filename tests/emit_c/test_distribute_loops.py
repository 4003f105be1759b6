"""Long functions of the folds of rows are computed in lanes; C gives the same values."""

import numpy as np
import pytest
from emitted import emitted

import emit_c
import hlo


@pytest.mark.parametrize("rows", [4, 63, 64, 67, 130, 1000])
@pytest.mark.parametrize("columns", [17, 32, 50])
def test_values(rows, columns):
    module = hlo.parse(f"""HloModule m
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
ENTRY e {{
  x = f32[{rows},{columns}] parameter(0)
  w = f32[{rows}] parameter(1)
  zero = f32[] constant(0)
  squares = f32[{rows},{columns}] multiply(x, x)
  total = f32[{rows}] reduce(squares, zero), dimensions={{1}}, to_apply=add
  log = f32[{rows}] log(total)
  scaled = f32[{rows}] multiply(log, w)
  ROOT both = f32[{rows}] tanh(scaled)
}}""")
    generator = np.random.default_rng(rows)
    x = generator.standard_normal((rows, columns)).astype(np.float32)
    w = generator.standard_normal(rows).astype(np.float32)
    x[0], w[-1] = 0, np.inf
    made = emit_c.compile(module)
    assert "distribute-loops" in emitted(module).passes
    plain = emit_c.compile(module, plain=True)
    np.testing.assert_allclose(made(x, w), plain(x, w), rtol=1e-5)
