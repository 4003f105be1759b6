"""Conditions that are the same for all iterations of a loop in lanes become limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
from codegen.elements.kernel import Scope
from codegen.printer import shown, text
from codegen.statements import straight
from emit_c.kernels.hoist_masks import hoist_masks
from emit_c.kernels.kernel import CKernel
from interpreter import evaluate


def choice(condition, name="x"):
    then = (Let("f32", f"{name}_1", f"a[{name}]"), Assign(name, f"{name}_1"))
    return Variable("f32", name), If(condition, then, (Assign(name, "0"),))


def loop(*statements, **options):
    return For("j", 100, statements, simd=True, **options)


def limited(*statements):
    return hoist_masks(CKernel(None, Scope()).body, statements)


def test_a_condition_becomes_a_limit():
    limit, made = limited(loop(*choice("i < 3"), start=5))
    assert shown(limit.value) == "i < 3 ? 100 : 5"
    assert f"if (j < {limit.name}) {{" in text([made])


def test_equal_conditions_share_a_limit():
    _, made = limited(loop(*choice("i < 3"), *choice("i < 3", "y")))
    assert text([made]).count("limit)") == 2


@pytest.mark.parametrize("condition", ["j < 3", "k < 3", "i < 3 || k < 2", "(i < 3 && k < 2)"])
def test_what_turns_differ_in_stays(condition):
    made = loop(Let("s64", "k", "b[j]"), *choice(condition))
    assert limited(made) == (made,)


def test_a_condition_of_both_kinds_is_cut():
    limit, made = limited(loop(*choice("i < 3 && j < 4 && i > 1")))
    assert shown(limit.value).startswith("i < 3 && i > 1 ?")
    assert "if (j < limit && j < 4) {" in text([made])


def test_a_truth_that_others_are_joined_with_becomes_a_comparison():
    limit, made = limited(loop(Let("pred", "d", "b[j]"), Let("pred", "e", "c | d")))
    assert shown(limit.value) == "c ? 100 : 0"
    assert "const pred e = (j < limit) | d;" in text([made])


def test_bits_that_others_are_joined_with_stay():
    made = loop(Let("s32", "d", "b[j]"), Let("s32", "e", "c | d"))
    assert limited(made) == (made,)


def test_loops_one_after_the_other_stay():
    made = For("j", 100, choice("i < 3"))
    assert limited(made) == (made,)


def test_loops_inside_of_other_statements():
    (made,) = limited(If("c", (For("i", 5, (loop(*choice("i < 3")),)),), ()))
    limit, _ = made.then[0].body
    assert shown(limit.value) == "i < 3 ? 100 : 0"


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
    module = hlo.parse(f"""HloModule m
f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}
ENTRY e {{
  x = f32[{",".join(map(str, dims))}] parameter(0)
  y = f32[{shape}] parameter(1)
  c = f32[] constant(-7)
  p = f32[{shape}] pad(x, c), padding={"x".join("_".join(map(str, p)) for p in pads)}
  s = f32[{shape}] add(p, y)
  m = f32[{kept}] reduce(s, c), dimensions={{{",".join(map(str, folded))}}}, to_apply=f
  ROOT t = (f32[{kept}], f32[{shape}]) tuple(m, s)
}}""")
    generator = np.random.default_rng(0)
    arguments = [generator.standard_normal(n).astype(np.float32) for n in (dims, sizes)]
    made, right = emit_c.compile(module)(*arguments), evaluate(module, *arguments)
    for mine, other in zip(made, right, strict=True):
        np.testing.assert_array_equal(mine, other)
