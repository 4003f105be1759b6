"""Instructions that say another precision than they compute: their values have what they say."""

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
import optimizer
from hlo.types.element_type import BF16

COMPUTATIONS = """
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
less { c = f32[] parameter(0)  d = f32[] parameter(1)
  ROOT l = pred[] compare(c, d), direction=LT }
"""
SCATTER = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}"
# Each makes bf16 of the array x of three f32, or of the scalar z.
LINES = {
    "select": "p = pred[3] compare(x, x), direction=EQ\nROOT r = bf16[3] select(p, x, x)",
    "transpose": "ROOT r = bf16[3] transpose(x), dimensions={0}",
    "reshape": "ROOT r = bf16[1,3] reshape(x)",
    "broadcast": "ROOT r = bf16[3,2] broadcast(x), dimensions={0}",
    "slice": "ROOT r = bf16[2] slice(x), slice={[0:2]}",
    "pad": "ROOT r = bf16[5] pad(x, z), padding=1_1",
    "concatenate": "ROOT r = bf16[6] concatenate(x, x), dimensions={0}",
    "reverse": "ROOT r = bf16[3] reverse(x), dimensions={0}",
    "copy": "ROOT r = bf16[3] copy(x)",
    "domain": 'ROOT r = bf16[3] domain(x), domain={kind="sharding", entry={replicated}, '
    "exit={replicated}}",
    "reduce": "ROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=sum",
    "reduce-window": "ROOT r = bf16[2] reduce-window(x, z), window={size=2}, to_apply=sum",
    "map": "ROOT r = bf16[3] map(x, x), to_apply=sum",
    "sort": "ROOT r = bf16[3] sort(x), dimensions={0}, to_apply=less",
    "gather": "i = s32[2] constant({0,2})\nROOT r = bf16[2] gather(x, i), offset_dims={}, "
    "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
    "scatter": "i = s32[2] constant({0,2})\nv = f32[2] slice(x), slice={[0:2]}\n"
    f"ROOT r = bf16[3] scatter(x, i, v), {SCATTER}, index_vector_dim=1, to_apply=sum",
    "update": "i = s32[] constant(1)\nv = f32[2] slice(x), slice={[0:2]}\n"
    "ROOT r = bf16[3] dynamic-update-slice(x, v, i)",
    "dynamic-slice": "i = s32[] constant(1)\n"
    "ROOT r = bf16[2] dynamic-slice(x, i), dynamic_slice_sizes={2}",
    "select-and-scatter": "s = f32[2] slice(x), slice={[0:2]}\nROOT r = bf16[3] "
    "select-and-scatter(x, s, z), window={size=2}, select=less, scatter=sum",
    "all-reduce": "ROOT r = bf16[3] all-reduce(x), to_apply=sum",
    "all-gather": "ROOT r = bf16[3] all-gather(x), dimensions={0}",
    "collective-permute": "ROOT r = bf16[3] collective-permute(x), source_target_pairs={{0,0}}",
    "cholesky": "a = f32[1,1] broadcast(z), dimensions={}\n"
    "ROOT r = bf16[1,1] cholesky(a), lower=true",
    "batch norm": "a = f32[3,3] broadcast(x), dimensions={0}\nROOT r = bf16[3,3] "
    "batch-norm-inference(a, x, x, x, x), epsilon=20, feature_index=0",
    "topk": "ROOT r = (bf16[2], s32[2]) topk(x), k=2, largest=true",
}
X = np.array([1.01, 2.003, -3.777], np.float32)


def module(line, to="bf16"):
    entry = f"x = f32[3] parameter(0)\nz = f32[] constant(1.3)\n{line.replace('bf16', to)}"
    return hlo.parse(f"{COMPUTATIONS}ENTRY e {{\n{entry}\n}}")


def first(value):
    return value[0] if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", LINES)
def test_values_have_the_precision_that_is_said(name):
    said = module(LINES[name])
    want = first(interpreter.evaluate(module(LINES[name], "f32"), X)).astype(BF16.dtype)
    found = {
        "interpreter": interpreter.evaluate(said, X),
        "optimized": interpreter.evaluate(optimizer.optimize(said), X),
        "for a GPU": interpreter.evaluate(optimizer.optimize(said, target="gpu"), X),
        "C": emit_c.compile(said)(X),
        "C as it is": emit_c.compile(said, optimize=False)(X),
    }
    for who, value in found.items():
        assert first(value).dtype == BF16.dtype, who
        assert first(value).tolist() == want.tolist(), who


@pytest.mark.parametrize("initial", ["z", "w"])
def test_computations_may_be_more_precise_than_what_they_fold(initial):
    line = f"y = bf16[3] convert(x)\nw = bf16[] constant(2.5)\nROOT r = f32[] reduce(y, {initial})"
    said = hlo.parse(
        f"{COMPUTATIONS}ENTRY e {{ x = f32[3] parameter(0)  z = f32[] constant(1.3)\n"
        f"{line}, dimensions={{0}}, to_apply=sum }}"
    )
    want = interpreter.evaluate(said, X)
    assert want.dtype == np.float32
    assert emit_c.compile(said)(X) == want


def test_loops_do_not_update_in_place_what_changes_its_precision():
    text = """
body { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  v = f32[3] get-tuple-element(s), index=1  n = f32[1] slice(v), slice={[2:3]}
  u = bf16[3] dynamic-update-slice(v, n, i)  w = f32[3] convert(u)
  one = s32[] constant(1)  j = s32[] add(i, one)  ROOT t = (s32[], f32[3]) tuple(j, w) }
more { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  two = s32[] constant(2)  ROOT c = pred[] compare(i, two), direction=LT }
ENTRY e { x = f32[3] parameter(0)  zero = s32[] constant(0)
  s = (s32[], f32[3]) tuple(zero, x)
  l = (s32[], f32[3]) while(s), condition=more, body=body
  ROOT r = f32[3] get-tuple-element(l), index=1 }"""
    last = np.float32(BF16.dtype.type(X[2]))
    loop = hlo.parse(text)
    for value in (interpreter.evaluate(loop, X), emit_c.compile(loop)(X)):
        assert value.tolist() == [last] * 3


def test_a_dot_makes_no_token():
    line = "ROOT r = token[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    with pytest.raises(hlo.HloError) as caught:
        hlo.verify(module(line))
    assert caught.value.code == "HLO030"


def test_scales_may_be_of_any_type():
    scaled = hlo.parse("""ENTRY e {
  x = f8e4m3fn[2,4] parameter(0)
  y = s32[4,2] iota(), iota_dimension=0
  s = f32[2,2] iota(), iota_dimension=0
  ROOT d = f32[2,2] scaled-dot(x, y, s, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""")
    x = np.ones((2, 4), scaled.entry.parameters[0].shape.element_type.dtype)
    want = interpreter.evaluate(scaled, x)
    assert want.tolist() == [[0, 0], [5, 5]]
    assert emit_c.compile(scaled)(x).tolist() == want.tolist()
