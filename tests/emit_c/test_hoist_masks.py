"""Conditions that are the same for all iterations of a loop in lanes become limits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies.compiled import check
from written import Assign, For, If, Let, Variable

from codegen.statements import straight


def choice(condition, name="x"):
    then = (Let("f32", f"{name}_1", f"a[{name}]"), Assign(name, f"{name}_1"))
    return Variable("f32", name), If(condition, then, (Assign(name, "0"),))


def loop(*statements, **options):
    return For("j", 100, statements, simd=True, **options)


def test_choices_are_straight_code():
    assert straight(choice("j < 3"))
    assert not straight([If("c", (loop(),))])


@given(st.data())
def test_folds_of_padded_arrays(data):
    dims = data.draw(st.lists(st.integers(1, 40), min_size=2, max_size=2))
    pads = [data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)))] * 2
    sizes = [
        n + (n - 1) * interior + low + high
        for n, (low, high, interior) in zip(dims, pads, strict=True)
    ]
    folded = data.draw(st.sampled_from([[0], [1], [0, 1]]))
    kept = ",".join(str(n) for d, n in enumerate(sizes) if d not in folded)
    shape = ",".join(map(str, sizes))
    module = f"""HloModule m
f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}
ENTRY e {{
  x = f32[{",".join(map(str, dims))}] parameter(0)
  y = f32[{shape}] parameter(1)
  c = f32[] constant(-7)
  p = f32[{shape}] pad(x, c), padding={"x".join("_".join(map(str, p)) for p in pads)}
  s = f32[{shape}] add(p, y)
  m = f32[{kept}] reduce(s, c), dimensions={{{",".join(map(str, folded))}}}, to_apply=f
  ROOT t = (f32[{kept}], f32[{shape}]) tuple(m, s)
}}"""
    generator = np.random.default_rng(0)
    arguments = [generator.standard_normal(n).astype(np.float32) for n in (dims, sizes)]
    check(module, optimize=True, arguments=arguments)
