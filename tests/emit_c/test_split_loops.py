"""Loops around lanes are cut where their choices change."""

import numpy as np
import pytest
from emitted import checked, emitted
from hypothesis import given
from hypothesis import strategies as st
from strategies.compiled import check, whole

import emit_c
import hlo
from codegen.expressions import Index, Literal, Op
from codegen.schedule.conditions import truth, turns
from interpreter import evaluate
from optimizer.analysis.indexing import Counter, Sum


@pytest.mark.parametrize("a", [-3, -2, -1, 1, 2, 3])
@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "==", "!="])
def test_the_edges_of_a_comparison(op, a):
    for b in range(-7, 8):
        condition = Op(op, (Index(Sum(b, ((Counter("n", -99, 99), a),))), Literal(1)))
        known = [truth(condition, {"n": Literal(n)}) for n in range(-9, 10)]
        edges = {n for n in range(-8, 10) if known[n + 8] != known[n + 9]}
        assert turns(condition, "n") == edges


@given(st.data())
def test_folds_of_what_is_put_together(data):
    parts = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    columns = data.draw(st.integers(1, 40))
    low, high = data.draw(st.tuples(st.integers(-1, 2), st.integers(0, 2)))
    rows = sum(parts) + low + high
    given_parts = "\n".join(
        f"  x{k} = f32[{n},{columns}] parameter({k})" for k, n in enumerate(parts)
    )
    module = f"""HloModule m
f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
ENTRY e {{
{given_parts}
  c = f32[] constant(-7)
  s = f32[{sum(parts)},{columns}] concatenate({", ".join(f"x{k}" for k in range(len(parts)))}),
    dimensions={{0}}
  p = f32[{rows},{columns}] pad(s, c), padding={low}_{high}x0_0
  ROOT r = f32[{columns}] reduce(p, c), dimensions={{0}}, to_apply=f
}}"""
    generator = np.random.default_rng(0)
    # Sums of small integers are the same in every order.
    arguments = [generator.integers(-9, 9, (n, columns)).astype(np.float32) for n in parts]
    check(module, optimize=True, arguments=arguments)


def test_a_fold_of_blocks_of_what_was_rolled():
    module = hlo.parse("""HloModule m
f { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] or(a, b) }
ENTRY e {
  x = pred[300,256] parameter(0)
  y = pred[300,256] parameter(1)
  first = pred[1,256] slice(x), slice={[0:1], [0:256]}
  others = pred[299,256] slice(x), slice={[1:300], [0:256]}
  up = pred[300,256] concatenate(others, first), dimensions={0}
  last = pred[1,256] slice(x), slice={[299:300], [0:256]}
  before = pred[299,256] slice(x), slice={[0:299], [0:256]}
  down = pred[300,256] concatenate(last, before), dimensions={0}
  near = pred[300,256] or(up, down)
  both = pred[300,256] and(near, y)
  none = pred[] constant(false)
  ROOT r = pred[] reduce(both, none), dimensions={0,1}, to_apply=f
}""")
    executable = emit_c.compile(module)
    assert "split-loops" in emitted(module).passes
    for row, column in ((0, 3), (1, 0), (150, 255), (298, 9), (299, 200)):
        for x, y in ((row - 1) % 300, row), ((row + 1) % 300, row), (row, row):
            one, other = (np.zeros((300, 256), bool) for _ in range(2))
            one[x, column], other[y, column] = True, True
            assert executable(one, other) == evaluate(module, one, other)


def test_sums_of_arrays_side_by_side_are_what_the_interpreter_says():
    module = """HloModule m
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    fused { x = f32[40,50,32] parameter(0)
      first = f32[40,49,32] slice(x), slice={[0:40],[1:50],[0:32]}
      last = f32[40,1,32] slice(x), slice={[0:40],[0:1],[0:32]}
      next = f32[40,50,32] concatenate(first, last), dimensions={1}
      one = f32[40,50,1,32] reshape(x)  other = f32[40,50,1,32] reshape(next)
      both = f32[40,50,3,32] concatenate(one, other, one), dimensions={2}
      zero = f32[] constant(0)
      ROOT s = f32[40,50,3] reduce(both, zero), dimensions={3}, to_apply=add }
    ENTRY e { x = f32[40,50,32] parameter(0)
      ROOT f = f32[40,50,3] fusion(x), kind=kLoop, calls=fused }"""
    made = checked(module, arguments=whole(-9, 9))
    # Each of the three has sums of its own.
    assert "i_2" not in {loop.name for loop in made.loops}
