"""Instructions that say another precision than they compute: their values have what they say."""

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
import optimizer
from hlo.types.element_type import BF16
from interpreter.numbers.compare import BITS, ROUNDING, compare
from optimizer import parse_pipeline

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


REDUCERS = """
add32 { a.1 = f32[] parameter(0)  b.1 = f32[] parameter(1)  ROOT r.1 = f32[] add(a.1, b.1) }
add16 { a.2 = bf16[] parameter(0)  b.2 = bf16[] parameter(1)  ROOT r.2 = bf16[] add(a.2, b.2) }
add64 { a.3 = f64[] parameter(0)  b.3 = f64[] parameter(1)  ROOT r.3 = f64[] add(a.3, b.3) }
ge16 { a.4 = bf16[] parameter(0)  b.4 = bf16[] parameter(1)
  ROOT r.4 = pred[] compare(a.4, b.4), direction=GE }
two { a.5 = f32[] parameter(0)  b.5 = bf16[] parameter(1)
  c.5 = f32[] parameter(2)  d.5 = bf16[] parameter(3)
  e.5 = f32[] add(a.5, c.5)  f.5 = bf16[] multiply(b.5, d.5)
  ROOT r.5 = (f32[], bf16[]) tuple(e.5, f.5) }
"""
# Of x, y, h and d of 6 f32, bf16, f16 and f64, and s and t, an f32 and a bf16.
MIXED = {
    "add": "ROOT r = f32[6] add(x, y)",
    "add, narrower": "ROOT r = bf16[6] add(x, y)",
    "add, wider": "ROOT r = f64[6] add(x, x)",
    "add of f64": "ROOT r = f32[6] add(x, d)",
    "add of halves": "ROOT r = bf16[6] add(y, h)",
    "divide": "b = bf16[6] broadcast(t), dimensions={}\nROOT r = f32[6] divide(x, b)",
    "exponential, wider": "ROOT r = f32[6] exponential(y)",
    "exponential, narrower": "ROOT r = f16[6] exponential(x)",
    "compare": "ROOT r = pred[6] compare(x, y), direction=LT",
    "select": "p = pred[6] compare(x, x), direction=EQ\nROOT r = f32[6] select(p, h, y)",
    "clamp": "ROOT r = f32[6] clamp(t, x, h)",
    "concatenate": "ROOT r = f32[18] concatenate(x, y, h), dimensions={0}",
    "pad": "ROOT r = f32[9] pad(x, t), padding=1_2",
    "update": "i = s32[] constant(1)\nv = bf16[2] slice(y), slice={[0:2]}\n"
    "ROOT r = f32[6] dynamic-update-slice(x, v, i)",
    "reshape twice": "a = bf16[6] reverse(x), dimensions={0}\nROOT r = f32[2,3] reshape(a)",
    "complex": "c = c64[6] complex(x, x)\nROOT r = f64[6] abs(c)",
    "fft": "c = c64[6] complex(x, x)\nROOT r = f64[10] fft(c), fft_type=IRFFT, fft_length={10}",
    "reduce": "ROOT r = f32[] reduce(x, t), dimensions={0}, to_apply=add16",
    "reduce, wide": "ROOT r = f32[] reduce(y, t), dimensions={0}, to_apply=add32",
    "reduce of f64": "ROOT r = f32[] reduce(x, t), dimensions={0}, to_apply=add64",
    "reduce of two": "ROOT r = (f32[], f32[]) reduce(x, h, s, t), dimensions={0}, to_apply=two",
    "reduce-window": "ROOT r = f32[5] reduce-window(y, s), window={size=2}, to_apply=add32",
    "reduce-window, narrow": "ROOT r = bf16[5] reduce-window(x, s), window={size=2}, "
    "to_apply=add16",
    "scatter": "i = s32[2] constant({0,2})\nv = bf16[2] slice(y), slice={[0:2]}\n"
    f"ROOT r = f32[6] scatter(x, i, v), {SCATTER}, index_vector_dim=1, to_apply=add16",
    "select-and-scatter": "v = bf16[5] slice(y), slice={[0:5]}\nROOT r = f32[6] "
    "select-and-scatter(x, v, t), window={size=2}, select=ge16, scatter=add32",
    "map": "ROOT r = f32[6] map(x, x), dimensions={0}, to_apply=add16",
    "all-reduce": "ROOT r = f32[6] all-reduce(x), to_apply=add16",
    "batch norm": "a = f32[6,6] broadcast(x), dimensions={0}\nROOT r = f32[6,6] "
    "batch-norm-inference(a, y, y, x, d), epsilon=20, feature_index=0",
    "dot": "ROOT r = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "triangular-solve": "a = f32[6,6] broadcast(s), dimensions={}\nb = bf16[6,6] broadcast(t), "
    "dimensions={}\nROOT r = f32[6,6] triangular-solve(a, b), left_side=true, lower=true, "
    "transpose_a=NO_TRANSPOSE",
    "in a fusion": "ROOT r = bf16[6] fusion(x, y), kind=kLoop, calls=fused",
}
FUSED = """
fused { a.6 = f32[6] parameter(0)  b.6 = bf16[6] parameter(1)
  c.6 = bf16[6] reverse(a.6), dimensions={0}  d.6 = f32[6] multiply(c.6, b.6)
  ROOT e.6 = bf16[6] subtract(d.6, a.6) }
"""


@pytest.mark.parametrize("name", MIXED)
def test_mixed_precision_is_rounded_at_the_same_places(name):
    entry = f"""x = f32[6] parameter(0)
y = bf16[6] parameter(1)
h = f16[6] parameter(2)
d = f64[6] parameter(3)
s = f32[] parameter(4)
t = bf16[] parameter(5)
{MIXED[name]}"""
    said = hlo.parse(f"{REDUCERS}{FUSED}ENTRY e {{\n{entry}\n}}")
    numbers = np.random.default_rng(1)
    given = [
        (numbers.random(p.shape.dims) + 0.3).astype(p.shape.element_type.dtype)
        for p in said.entry.parameters
    ]
    want = interpreter.evaluate(said, *given)
    found = {
        "optimized": interpreter.evaluate(optimizer.optimize(said), *given),
        "for a GPU": interpreter.evaluate(optimizer.optimize(said, target="gpu"), *given),
        "C": emit_c.compile(said)(*given),
        "C as it is": emit_c.compile(said, optimize=False)(*given),
    }
    for who, value in found.items():
        promise = ROUNDING if name in ("exponential, wider", "fft", "dot") else BITS
        assert compare(in_f32(want), in_f32(value), promise) is None, who
        pairs = zip(leaves(want), leaves(value), strict=True)
        assert all(w.dtype == v.dtype for w, v in pairs), who


def in_f32(value):
    """f64 as f32: an FFT that says f64 computes in f32."""
    return tuple(x.astype("f4") if x.dtype == "f8" else x for x in leaves(value))


def leaves(value):
    return [x for part in value for x in leaves(part)] if isinstance(value, tuple) else [value]


# Passes that read an instruction as if it computed in the type of its result.
TRUSTING = {
    "algebraic-simplifier": "b = bf16[6] broadcast(t), dimensions={}\nROOT r = f32[6] divide(x, b)",
    "reshape-decomposer": "ROOT r = bf16[2,3] reshape(x)",
    "reshape-mover": "a = bf16[2,3] reshape(x)\nROOT r = f32[2,3] exponential(a)",
    "map-inline": MIXED["map"],
}


@pytest.mark.parametrize("name", TRUSTING)
def test_passes_leave_mixed_precision_alone(name):
    text = f"{REDUCERS}ENTRY e {{ x = f32[6] parameter(0)  t = bf16[] parameter(1)\n"
    said = hlo.parse(f"{text}{TRUSTING[name]} }}")
    given = [np.linspace(1, 2, 6, dtype="f4"), np.asarray(1.1, BF16.dtype)]
    after = parse_pipeline(name).run(said)
    hlo.verify(after)
    assert compare(interpreter.evaluate(said, *given), interpreter.evaluate(after, *given)) is None
    explicit = parse_pipeline(f"explicit-precision,{name}").run(said)
    assert explicit is not said


@pytest.mark.parametrize("kinds", [("bf16", "c128"), ("c64", "f64"), ("f32", "f64"), ("s8", "c64")])
def test_scales_and_elements_meet_in_a_type_that_holds_both(kinds):
    element, scale = kinds
    scaled = hlo.parse(f"""ENTRY e {{
  x = {element}[2,4] parameter(0)
  s = {scale}[2,1] parameter(1)
  ROOT d = c128[2,2] scaled-dot(x, x, s, s), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
}}""")
    given = [np.full(p.shape.dims, 3, p.shape.element_type.dtype) for p in scaled.entry.parameters]
    want = interpreter.evaluate(scaled, *given)
    assert want.tolist() == [[324, 324], [324, 324]]
    assert emit_c.compile(scaled)(*given).tolist() == want.tolist()
