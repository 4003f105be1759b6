"""The softmax of long rows from that of their parts: the same, whatever the numbers are."""

import numpy as np
import pytest

import hlo
import interpreter
from optimizer.log import Log
from optimizer.passes import find

N, PART = 131072, 16384
GUARDED = (
    "f = pred[5] is-finite(m)  zeros = f32[5] broadcast(zero), dimensions={}"
    "  g = f32[5] select(f, m, zeros)"
)
TEXT = """HloModule m
most {{ x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT m = f32[] maximum(x, y) }}
sum {{ x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }}
ENTRY e {{
  x = f32[5,131072] parameter(0)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[5] reduce(x, low), dimensions={{1}}, to_apply=most
  {guard}
  b = f32[5,131072] broadcast({base}), dimensions={{0}}
  d = f32[5,131072] subtract(x, b)  e = f32[5,131072] exponential(d)
  s = f32[5] reduce(e, zero), dimensions={{1}}, to_apply=sum
  ROOT t = (f32[5], f32[5]) tuple(m, s)
}}"""


@pytest.mark.parametrize(("guard", "base"), [("", "m"), (GUARDED, "g")])
def test_infinities_and_nan_stay_what_they_are(guard, base):
    module = hlo.parse(TEXT.format(guard=guard, base=base))
    x = np.random.default_rng(0).normal(-1000, 9, (5, N)).astype(np.float32)
    x[1, PART : 3 * PART] = -np.inf
    x[2] = -np.inf
    x[3, 7] = np.inf
    x[4, 9 * 9] = np.nan
    made = find("long-softmax-splitter")().run(module, Log(observers=()))
    assert [i.shape.dims for i in made.entry.instructions].count((5, 8, PART)) > 2
    for got, wanted in zip(
        interpreter.evaluate(made, x), interpreter.evaluate(module, x), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-4)
