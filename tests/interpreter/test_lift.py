"""Lifting: a computation run on arrays gives at each place what it gives for scalars."""

import numpy as np
import pytest

import hlo
import interpreter
from interpreter.numbers.compare import compare

# Each maps two f32 scalars to one. They are mapped over arrays, and called for every pair.
COLLATZ = """
goes_on {
  s = (f32[], f32[]) parameter(0)
  x = f32[] get-tuple-element(s), index=0
  one = f32[] constant(1)
  ROOT r = pred[] compare(x, one), direction=GT
}
step {
  s = (f32[], f32[]) parameter(0)
  x = f32[] get-tuple-element(s), index=0
  n = f32[] get-tuple-element(s), index=1
  half = f32[] constant(0.5)
  one = f32[] constant(1)
  less = f32[] multiply(x, half)
  more = f32[] add(n, one)
  ROOT r = (f32[], f32[]) tuple(less, more)
}
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  s = (f32[], f32[]) tuple(x, y)
  w = (f32[], f32[]) while(s), condition=goes_on, body=step
  ROOT r = f32[] get-tuple-element(w), index=1
}
"""
BRANCHES = """
sum {
  s = (f32[], f32[]) parameter(0)
  x = f32[] get-tuple-element(s), index=0
  y = f32[] get-tuple-element(s), index=1
  ROOT r = f32[] add(x, y)
}
negative { ROOT r = f32[] parameter(0) }
zero {
  x = f32[] parameter(0)
  ROOT r = f32[] negate(x)
}
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  index = s32[] convert(x)
  pair = (f32[], f32[]) tuple(x, y)
  ROOT r = f32[] conditional(index, y, x, pair), branch_computations={negative, zero, sum}
}
"""
PREDICATE = """
first { ROOT r = f32[] parameter(0) }
second {
  x = f32[] parameter(0)
  ROOT r = f32[] negate(x)
}
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  less = pred[] compare(x, y), direction=LT
  ROOT r = f32[] conditional(less, x, y), true_computation=first, false_computation=second
}
"""
ARRAYS = """
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y)
}
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  row = f32[3] broadcast(x), dimensions={}
  weights = f32[3] constant({1, 2, 3})
  scaled = f32[3] multiply(row, weights)
  zero = f32[] constant(0)
  total = f32[] reduce(scaled, zero), dimensions={0}, to_apply=add
  same = f32[] reduce(weights, zero), dimensions={0}, to_apply=add
  pair = f32[2] constant({3, 4})
  product = f32[] dot(pair, pair), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  some = f32[] subtract(total, same)
  more = f32[] add(some, product)
  ROOT r = f32[] call(more, y), to_apply=add
}
"""
BITS = """
either {
  x = u8[] parameter(0)
  y = u8[] parameter(1)
  ROOT r = u8[] xor(x, y)
}
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  sum = f32[] add(x, y)
  bytes = u8[4] bitcast-convert(sum)
  zero = u8[] constant(0)
  mixed = u8[] reduce(bytes, zero), dimensions={0}, to_apply=either
  back = f32[] bitcast-convert(bytes)
  number = f32[] convert(mixed)
  ROOT r = f32[] subtract(number, back)
}
"""
REREAD = """
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  a = s32[] bitcast(x)
  b = s32[] bitcast(y)
  mixed = s32[] xor(a, b)
  same = s32[] bitcast(mixed)
  ROOT r = f32[] bitcast(same)
}
"""
CASES = {
    "loop": COLLATZ,
    "branches": BRANCHES,
    "predicate": PREDICATE,
    "arrays": ARRAYS,
    "bits": BITS,
    "reread": REREAD,
}
NUMBERS = np.array([-2, -0.0, 0, 1, 2, 3.5, 40, np.inf], np.float32)


@pytest.mark.parametrize("name", CASES)
def test_lifted_computations(name: str) -> None:
    numbers = NUMBERS[np.isfinite(NUMBERS)] if name == "loop" else NUMBERS
    x, y = (a.copy() for a in np.meshgrid(numbers, numbers))
    shape = f"f32[{x.shape[0]},{x.shape[1]}]"
    mapped = hlo.parse(f"""HloModule m {CASES[name]}
    ENTRY e {{
      x = {shape} parameter(0)
      y = {shape} parameter(1)
      ROOT r = {shape} map(x, y), dimensions={{0,1}}, to_apply=f
    }}""")
    called = hlo.parse(f"""HloModule m {CASES[name]}
    ENTRY e {{
      x = f32[] parameter(0)
      y = f32[] parameter(1)
      ROOT r = f32[] call(x, y), to_apply=f
    }}""")
    want = np.empty_like(x)
    for place in np.ndindex(x.shape):
        want[place] = interpreter.evaluate(called, x[place], y[place])
    assert compare(want, interpreter.evaluate(mapped, x, y)) is None


def test_branches_of_no_element_have_a_type() -> None:
    """Nothing chooses a branch where nothing is there."""
    module = hlo.parse("""HloModule m
same { x = f32[] parameter(0)  ROOT n = f32[] negate(x) }
turned { x = f32[] parameter(0)  ROOT n = f32[] abs(x) }
choose {
  x = f32[] parameter(0)
  p = pred[] is-finite(x)
  ROOT c = f32[] conditional(p, x, x), true_computation=same, false_computation=turned
}
ENTRY e { x = f32[0] parameter(0)  ROOT m = f32[0] map(x), dimensions={0}, to_apply=choose }""")
    assert interpreter.evaluate(module, np.float32([])).dtype == np.float32
