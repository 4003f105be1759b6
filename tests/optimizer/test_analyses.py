"""Live ranges and costs, held against plain definitions."""

import pytest

import hlo
from optimizer.analysis.cost import cost, kernels, module_cost
from optimizer.analysis.runs import UNKNOWN_TRIPS, runs

COSTS = """HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
fused {
  p = f32[8,16] parameter(0)
  q = f32[8,16] parameter(1)
  part = f32[2,16] slice(p), slice={[0:2], [0:16]}
  other = f32[2,16] slice(q), slice={[2:4], [0:16]}
  ROOT tan = f32[2,16] tanh(part)
}
ENTRY e {
  x = f32[8,16] parameter(0)
  y = f32[16,4] parameter(1)
  i = s32[] constant(1)
  zero = f32[] constant(0)
  add = f32[8,16] add(x, x)
  exp = f32[8,16] exponential(x)
  dot = f32[8,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sum = f32[8] reduce(x, zero), dimensions={1}, to_apply=add
  window = f32[8,15] reduce-window(x, zero), window={size=1x2}, to_apply=add
  move = f32[16,8] transpose(x), dimensions={1,0}
  piece = f32[2,16] dynamic-slice(x, i, i), dynamic_slice_sizes={2,16}
  new = f32[8,16] dynamic-update-slice(x, piece, i, i)
  f = f32[2,16] fusion(x, add), kind=kLoop, calls=fused
  gte = (f32[2,16]) tuple(f)
  ROOT w = f32[] constant(2)
}"""
X, Y, PART = 512, 256, 128


@pytest.mark.parametrize(
    ("name", "flops", "transcendentals", "read", "written"),
    [
        ("x", 0, 0, (), 0),
        ("add", 128, 0, (X, X), X),
        ("exp", 0, 128, (X,), X),
        ("dot", 2 * 32 * 16, 0, (X, Y), 128),
        ("sum", 120, 0, (X, 0), 32),
        ("window", 120, 0, (X, 0), 480),
        ("move", 0, 0, (X,), X),
        ("piece", 0, 0, (PART, 0, 0), PART),
        ("new", 0, 0, (0, PART, 0, 0), PART),
        ("f", 0, 32, (PART, PART), PART),
        ("gte", 0, 0, (0,), 0),
    ],
)
def test_cost(name, flops, transcendentals, read, written):
    module = hlo.parse(COSTS)
    found = cost(next(i for i in module.entry.instructions if i.name == name))
    assert (found.flops, found.transcendentals) == (flops, transcendentals)
    assert (found.bytes_read, found.bytes_written) == (read, written)
    assert found.bytes_accessed == sum(read) + written


def test_cost_of_a_module_is_the_sum():
    module = hlo.parse(COSTS)
    total = sum(cost(i).bytes_accessed for i in module.entry.instructions)
    assert module_cost(module).bytes_accessed == total
    assert kernels(module) == 9


def test_computations_run_as_often_as_the_loops_around_them():
    loop = """
NAME.body {
  s.NAME = (s32[], f32[4]) parameter(0)
  i.NAME = s32[] get-tuple-element(s.NAME), index=0
  x.NAME = f32[4] get-tuple-element(s.NAME), index=1
  STEP
  ROOT t.NAME = (s32[], f32[4]) tuple(i.NAME, y.NAME)
}
NAME.cond {
  c.NAME = (s32[], f32[4]) parameter(0)
  ROOT p.NAME = pred[] constant(false)
}
"""
    inner = loop.replace("STEP", "y.NAME = f32[4] negate(x.NAME)").replace("NAME", "inner")
    step = "w = (s32[], f32[4]) while(s.NAME), condition=inner.cond, body=inner.body NOTE"
    step += "\n  y.NAME = f32[4] get-tuple-element(w), index=1"
    outer = loop.replace("STEP", step).replace("NAME", "outer")
    module = hlo.parse(
        "HloModule m"
        + inner
        + outer.replace("NOTE", ', backend_config={"known_trip_count":{"n":"5"}}')
        + """ENTRY e {
  p = (s32[], f32[4]) parameter(0)
  ROOT r = (s32[], f32[4]) while(p), condition=outer.cond, body=outer.body
}"""
    )
    found = {c.name: times for c, times in runs(module).items()}
    outer_runs = UNKNOWN_TRIPS
    assert found == {
        "e": 1,
        **dict.fromkeys(("outer.body", "outer.cond"), outer_runs),
        **dict.fromkeys(("inner.body", "inner.cond"), 5 * outer_runs),
    }
