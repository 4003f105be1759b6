"""Run-time sizes in C: arrays of the bounds, of which only what counts is seen."""

import numpy as np
import pytest
from strategies.compiled import entry

import emit_c
import hlo
import interpreter
import optimizer
from interpreter.numbers.compare import ROUNDING, compare

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }"
ADD += "\nmax { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }"
SIZED = (
    "x = f32[4,6] parameter(0)\nn = s32[] parameter(1)\nd = f32[4,<=6] set-dimension-size(x, n),"
)
SIZED += " dimensions={1}\n"
BODIES = {
    "elementwise": "y = f32[4,<=6] multiply(d, d)\nROOT r = f32[4,<=6] negate(y)",
    "size": "y = f32[4,<=6] negate(d)\nROOT r = s32[] get-dimension-size(y), dimensions={1}",
    "sum": "z = f32[] constant(2)\nROOT r = f32[4] reduce(d, z), dimensions={1}, to_apply=add",
    "maximum": "z = f32[] constant(-inf)\nROOT r = f32[] reduce(d, z), dimensions={0,1}, "
    "to_apply=max",
    "kept": "z = f32[] constant(0)\nROOT r = f32[<=6] reduce(d, z), dimensions={0}, to_apply=add",
    "dot": "ROOT r = f32[4,4] dot(d, d), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "outer": "ROOT r = f32[<=6,<=6] dot(d, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "moved": "t = f32[<=6,4] transpose(d), dimensions={1,0}\nu = f32[<=6,2,2] reshape(t)\n"
    "v = f32[<=6,2,1] slice(u), slice={[0:6],[0:2],[1:2]}\n"
    "ROOT r = f32[<=6,2,2] concatenate(v, v), dimensions={2}",
    "spread": "z = f32[] constant(0)\nk = f32[<=6] reduce(d, z), dimensions={0}, to_apply=add\n"
    "b = f32[4,<=6] broadcast(k), dimensions={1}\nROOT r = f32[4,<=6] add(b, d)",
    "shrunk and grown": "m = s32[] constant(2)\ne = f32[4,<=6] set-dimension-size(d, m), "
    "dimensions={1}\nROOT r = f32[4,<=6] set-dimension-size(e, n), dimensions={1}",
    "reshaped": "m = s32[] constant(4)\nROOT r = f32[<=6,<=4] dynamic-reshape(d, n, m)",
    "gathered": "i = s32[6] iota(), iota_dimension=0\n"
    "j = s32[<=6] set-dimension-size(i, n), dimensions={0}\n"
    "ROOT r = f32[4,<=6] gather(x, j), offset_dims={0}, collapsed_slice_dims={1}, "
    "start_index_map={1}, index_vector_dim=1, slice_sizes={4,1}",
    "tuple": "c = f32[4,<=6] cosine(d)\nt = (f32[4,<=6], s32[]) tuple(c, n)\n"
    "ROOT r = ((f32[4,<=6], s32[]), f32[4,6]) tuple(t, x)",
    "called": "ROOT r = f32[4,<=6] call(d), to_apply=twice",
    "reversed": "ROOT r = f32[4,<=6] reverse(d), dimensions={0,1}",
    "joined along": "c = f32[4,<=6] cosine(d)\nROOT r = f32[4,<=18] concatenate(c, x, d), "
    "dimensions={1}",
    "cut": "ROOT r = f32[4,4] slice(d), slice={[0:4],[1:5]}",
    "cut where it says": "m = s32[] constant(1)\n"
    "ROOT r = f32[2,3] dynamic-slice(d, m, n), dynamic_slice_sizes={2,3}",
    "written into": "k = s32[] constant(1)\nv = f32[2,2] slice(x), slice={[0:2],[0:2]}\n"
    "ROOT r = f32[4,<=6] dynamic-update-slice(d, v, k, k)",
    "written over": "m = u8[] constant(200)\nl = u8[] constant(2)\n"
    "o = f32[4,6] cosine(x)\nv = f32[2,<=6] slice(d), slice={[1:3],[0:6]}\n"
    "ROOT r = f32[4,6] dynamic-update-slice(o, v, l, m)",
    "written over itself": "k = s32[] constant(3)\nz = s32[] constant(-1)\n"
    "c = f32[4,<=6] cosine(d)\ne = f32[4,<=6] set-dimension-size(c, k), dimensions={1}\n"
    "ROOT r = f32[4,<=6] dynamic-update-slice(d, e, z, k)",
    "surrounded": "z = f32[] constant(7)\nROOT r = f32[5,<=14] pad(d, z), padding=0_1x1_2_1",
    "cropped": "z = f32[] constant(7)\nw = f32[4,<=7] pad(d, z), padding=0_0x2_-1\n"
    "ROOT r = f32[4,<=6] pad(w, z), padding=0_0x-1_0",
    "read from": "i = s32[3,1] constant({{2},{0},{5}})\n"
    "ROOT r = f32[3,4] gather(d, i), offset_dims={1}, collapsed_slice_dims={1}, "
    "start_index_map={1}, index_vector_dim=1, slice_sizes={4,1}",
    "read from both": "i = s32[2,2] constant({{2,1},{3,9}})\n"
    "ROOT r = f32[2,2] gather(d, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,2}",
    "read whole": "i = s32[2] constant({3,1})\n"
    "ROOT r = f32[2,<=6] gather(d, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
    "scattered": "i = s32[6] constant({3,1,0,3,9,2})\n"
    "j = s32[<=6] set-dimension-size(i, n), dimensions={0}\nt = f32[<=6,4] transpose(d), "
    "dimensions={1,0}\nROOT r = f32[4,4] scatter(corner, j, t), update_window_dims={1}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "sorted": "ROOT r = f32[4,<=6] sort(d), dimensions={1}, to_apply=less",
    "sorted aside": "ROOT r = f32[4,<=6] sort(d), dimensions={0}, to_apply=less",
    "sorted in pairs": "i = s32[4,6] iota(), iota_dimension=1\n"
    "ROOT r = (f32[4,<=6], s32[4,<=6]) sort(d, i), dimensions={1}, is_stable=true, "
    "to_apply=less_pair",
    "sorted beside more": "i = s32[4,6] iota(), iota_dimension=1\n"
    "ROOT r = (f32[4,<=6], s32[4,6]) sort(d, i), dimensions={1}, to_apply=less_pair",
    "largest with its place": "i = s32[4,6] iota(), iota_dimension=1\n"
    "low = f32[] constant(-inf)\nz = s32[] constant(0)\n"
    "ROOT r = (f32[4], s32[4]) reduce(d, i, low, z), dimensions={1}, to_apply=larger",
    "joined": "t = f32[<=6,4] transpose(d), dimensions={1,0}\nROOT r = f32[<=24] reshape(t)",
    "packed": "ROOT r = f32[<=24] reshape(d)",
    "beside itself": "b = f32[4,<=6,6] broadcast(d), dimensions={0,1}\nc = f32[4,<=6,<=6] "
    "set-dimension-size(b, n), dimensions={2}\nROOT r = f32[2,2,<=6,1,<=6] reshape(c)",
    "images": "t = f32[<=6,4] transpose(d), dimensions={1,0}\ni = f32[<=6,4,1] reshape(t)\n"
    "f = f32[2,1,3] slice(filters), slice={[0:2],[0:1],[0:3]}\n"
    "ROOT r = f32[<=6,3,3] convolution(i, f), window={size=2}, dim_labels=b0f_0io->b0f",
    "chosen": "z = s32[] constant(3)\np = pred[] compare(n, z), direction=LT\n"
    "ROOT r = f32[4,<=6] conditional(p, d, x), true_computation=twice, "
    "false_computation=front",
    "repeated": "z = s32[] constant(0)\ns = (s32[], f32[4,<=6]) tuple(z, d)\n"
    "w = (s32[], f32[4,<=6]) while(s), condition=few, body=longer\n"
    "ROOT r = f32[4,<=6] get-tuple-element(w), index=1",
    "within a loop": "s = (s32[], f32[4,6]) tuple(n, x)\n"
    "w = (s32[], f32[4,6]) while(s), condition=any_left, body=less_left\n"
    "ROOT r = f32[4,6] get-tuple-element(w), index=1",
    "matrices": "t = f32[<=6,4] transpose(d), dimensions={1,0}\n"
    "l = f32[<=6,4,4] broadcast(t), dimensions={0,1}\n"
    "m = f32[<=6,4,4] broadcast(t), dimensions={0,2}\np = f32[<=6,4,4] multiply(l, m)\n"
    "one = f32[<=6,4,4] exponential(p)\n"
    "v = f32[<=6,4,1] reshape(t)\n"
    "ROOT r = f32[<=6,4,1] triangular-solve(one, v), left_side=true, lower=true, "
    "unit_diagonal=true, transpose_a=NO_TRANSPOSE",
    "by a fold of its own": "z = f32[] constant(3)\n"
    "ROOT r = f32[4] reduce(d, z), dimensions={1}, to_apply=farther",
    "from what is not neutral": "i = s32[4,6] iota(), iota_dimension=1\nz = f32[] constant(3)\n"
    "k = s32[] constant(2)\n"
    "ROOT r = (f32[4], s32[4]) reduce(d, i, z, k), dimensions={1}, to_apply=sums",
    "windows of what is not neutral": "z = f32[] constant(3)\nROOT r = f32[4,<=6] "
    "reduce-window(d, z), window={size=1x3 pad=0_0x1_1}, to_apply=farther",
    "windows of several": "i = s32[4,6] iota(), iota_dimension=1\nz = f32[] constant(3)\n"
    "k = s32[] constant(2)\nROOT r = (f32[4,<=3], s32[4,<=3]) "
    "reduce-window(d, i, z, k), window={size=1x3 stride=1x2 pad=0_0x1_1}, to_apply=sums",
    "mapped": "ROOT r = f32[4,<=6] map(d), dimensions={0,1}, to_apply=half",
    "bits": "ROOT r = u8[4,<=6,4] bitcast-convert(d)",
    "transformed": "t = f32[<=6,4] transpose(d), dimensions={1,0}\n"
    "ROOT r = c64[<=6,3] fft(t), fft_type=RFFT, fft_length={4}",
    "largest two": "t = f32[<=6,4] transpose(d), dimensions={1,0}\n"
    "ROOT r = (f32[<=6,2], s32[<=6,2]) topk(t), k=2, largest=true",
    "normalised": "s = f32[4] constant({1,2,3,4})\nROOT r = (f32[4,<=6], f32[4], f32[4]) "
    "batch-norm-training(d, s, s), epsilon=0.1, feature_index=0",
    "normalised as before": "s = f32[4] constant({1,2,3,4})\nROOT r = f32[4,<=6] "
    "batch-norm-inference(d, s, s, s, s), epsilon=0.1, feature_index=0",
    "normalised by features of run-time size": "z = f32[] constant(2)\n"
    "k = f32[<=6] reduce(d, z), dimensions={0}, to_apply=add\nROOT r = (f32[4,<=6], f32[<=6], "
    "f32[<=6]) batch-norm-training(d, k, k), epsilon=0.1, feature_index=1",
    "gradients of what is normalised": "s = f32[4] constant({1,2,3,4})\n"
    "ROOT r = (f32[4,<=6], f32[4], f32[4]) batch-norm-grad(d, s, s, s, d), epsilon=0.1, "
    "feature_index=0",
    "a matrix of run-time size": "b = f32[<=6,6] dot(x, d), lhs_contracting_dims={0}, "
    "rhs_contracting_dims={0}\n"
    "e = f32[<=6,<=6] dot(d, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
    "i = s32[6,6] iota(), iota_dimension=0\nj = s32[6,6] iota(), iota_dimension=1\n"
    "p = pred[6,6] compare(i, j), direction=EQ\nu = f32[6,6] convert(p)\n"
    "f = f32[<=6,<=6] add(e, u)\nROOT r = f32[<=6,<=6] cholesky(f), lower=true",
    "as many unknowns as there are": "e = f32[<=6,<=6] dot(d, d), lhs_contracting_dims={0}, "
    "rhs_contracting_dims={0}\nt = f32[<=6,4] transpose(d), dimensions={1,0}\n"
    "ROOT r = f32[<=6,4] triangular-solve(e, t), left_side=true, lower=true, "
    "unit_diagonal=true, transpose_a=NO_TRANSPOSE",
    "scattered into what is there": "t = f32[<=6,4] transpose(d), dimensions={1,0}\n"
    "i = s32[5] constant({3,1,5,-2,3})\nv = f32[5,4] constant({{1,2,3,4},{5,6,7,8},{9,1,2,3},"
    "{4,5,6,7},{8,9,1,2}})\nROOT r = f32[<=6,4] scatter(t, i, v), update_window_dims={1}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
    "to_apply=second",
    "windows into what is there": "i = s32[3,2] constant({{0,1},{2,4},{1,2}})\n"
    "v = f32[3,1,3] constant({{{1,2,3}},{{5,6,7}},{{9,1,2}}})\n"
    "ROOT r = f32[4,<=6] scatter(d, i, v), update_window_dims={1,2}, inserted_window_dims={}, "
    "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add",
    "rows into rows": "i = s32[3] constant({3,0,3})\n"
    "g = f32[3,<=6] gather(d, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}\n"
    "ROOT r = f32[4,<=6] scatter(d, i, g), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second",
    "sums of rows": "i = s32[4] constant({3,0,3,7})\n"
    "ROOT r = f32[4,6] scatter(x, i, d), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "static again": "p = (f32[4,6], s32[], s32[]) custom-call(d), "
    'custom_call_target="PadToStatic"\n'
    "y = f32[4,6] get-tuple-element(p), index=0\nROOT r = f32[4,6] negate(y)",
}
SIZED += "corner = f32[4,4] slice(x), slice={[0:4],[2:6]}\nfilters = f32[4,2,3] reshape(x)\n"
CALLED = """
twice { q = f32[4,<=6] parameter(0)  ROOT t = f32[4,<=6] add(q, q) }
front {
  q = f32[4,6] parameter(0)
  two = s32[] constant(2)
  ROOT t = f32[4,<=6] set-dimension-size(q, two), dimensions={1}
}
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT }
less_pair {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}
larger {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GE
  c = f32[] select(g, a, b)
  k = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(c, k)
}
farther {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  l = f32[] abs(a)
  m = f32[] abs(b)
  g = pred[] compare(l, m), direction=GE
  ROOT c = f32[] select(g, a, b)
}
sums {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  c = f32[] add(a, b)
  k = s32[] add(i, j)
  ROOT t = (f32[], s32[]) tuple(c, k)
}
second { a = f32[] parameter(0)  ROOT b = f32[] parameter(1) }
half { a = f32[] parameter(0)  h = f32[] constant(0.5)  ROOT m = f32[] multiply(a, h) }
few {
  s = (s32[], f32[4,<=6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT l = pred[] compare(i, three), direction=LT
}
longer {
  s = (s32[], f32[4,<=6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4,<=6] get-tuple-element(s), index=1
  n = s32[] get-dimension-size(y), dimensions={1}
  m = s32[] add(n, one)
  six = s32[] constant(6)
  k = s32[] minimum(m, six)
  c = f32[4,<=6] cosine(y)
  g = f32[4,<=6] set-dimension-size(c, k), dimensions={1}
  ROOT t = (s32[], f32[4,<=6]) tuple(j, g)
}
any_left {
  s = (s32[], f32[4,6]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT g = pred[] compare(n, zero), direction=GT
}
less_left {
  s = (s32[], f32[4,6]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  x = f32[4,6] get-tuple-element(s), index=1
  d = f32[4,<=6] set-dimension-size(x, n), dimensions={1}
  zero = f32[] constant(0)
  sum = f32[4] reduce(d, zero), dimensions={1}, to_apply=add
  b = f32[4,6] broadcast(sum), dimensions={0}
  c = f32[4,6] cosine(b)
  one = s32[] constant(1)
  m = s32[] subtract(n, one)
  ROOT t = (s32[], f32[4,6]) tuple(m, c)
}"""


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_only_what_counts_is_seen(name, optimize):
    module = hlo.parse(entry(SIZED + BODIES[name], ADD + CALLED))
    executable = emit_c.compile(module, optimize=optimize)
    x = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)
    for size in (0, 3, 6):
        arguments = (x, np.int32(size))
        expected = interpreter.evaluate(module, *arguments)
        assert compare(executable(*arguments), expected, ROUNDING) is None


def test_arguments_may_be_smaller_than_their_bounds():
    text = """p = (f32[<=5], s32[3]) parameter(0)
x = f32[<=5] get-tuple-element(p), index=0
y = f32[<=5] parameter(1)
z = f32[<=5] add(x, y)
ROOT r = (f32[<=5], f32[<=5]) tuple(z, y)"""
    executable = emit_c.compile(hlo.parse(entry(text)))
    ones = np.ones(3, np.float32)
    total, same = executable((ones, np.zeros(3, np.int32)), ones)
    assert total.tolist() == [2, 2, 2]
    assert same.tolist() == [1, 1, 1]


def test_a_size_that_is_the_bound_changes_nothing():
    text = entry("""x = f32[4] parameter(0)
n = s32[] constant(4)
ROOT r = f32[4] set-dimension-size(x, n), dimensions={0}""")
    assert type(emit_c.compile(hlo.parse(text))) is emit_c.Executable


@pytest.mark.parametrize(
    "line",
    [
        "ROOT r = f32[24] reshape(d)",
        ("c = c64[4,<=6] complex(d, d)\nROOT r = c64[4,<=6] fft(c), fft_type=FFT, fft_length={6}"),
        (
            "j = s32[1] constant({0})\n"
            "ROOT r = f32[4,6] scatter(x, j, d), update_window_dims={0,1}, "
            "inserted_window_dims={}, scatter_dims_to_operand_dims={1}, index_vector_dim=0, "
            "to_apply=add"
        ),
        (
            "i = s32[4] constant({3,0,3,7})\n"
            "ROOT r = f32[4,6] scatter(x, i, d), update_window_dims={1}, "
            "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
            "to_apply=second"
        ),
    ],
)
def test_what_computes_across_run_time_sizes_is_refused(line):
    with pytest.raises(hlo.HloError, match="r: ") as caught:
        emit_c.compile(hlo.parse(entry(SIZED + line, ADD + CALLED)))
    assert caught.value.code == "HLO181"
    assert caught.value.span is not None


TWO = """two { p = f32[] parameter(0)  q = f32[] parameter(1)
  r = f32[] parameter(2)  s = f32[] parameter(3)
  a = f32[] add(p, r)  b = f32[] multiply(q, s)  ROOT t = (f32[], f32[]) tuple(a, b) }"""


@pytest.mark.parametrize("optimize", [False, True])
def test_shardings_of_what_gets_sizes_are_dropped(optimize: bool) -> None:
    text = f"""{TWO}
ENTRY e {{ x = f32[<=4] parameter(0)
  i = f32[] constant(0)
  ROOT w = (f32[<=3], f32[<=3]) reduce-window(x, x, i, i), window={{size=2}}, to_apply=two,
    sharding={{{{replicated}},{{replicated}}}} }}"""
    module, x = hlo.parse(text), np.arange(4, dtype=np.float32)
    got, want = emit_c.compile(module, optimize=optimize)(x), interpreter.evaluate(module, x)
    assert [part.tolist() for part in got] == [part.tolist() for part in want]


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("kind", ["u32", "s64", "u8", "s32"])
@pytest.mark.parametrize("opcode", ["set", "slice"])
def test_sizes_may_be_of_any_integer_type(opcode: str, kind: str, optimize: bool) -> None:
    sized = {
        "set": "m = s32[] convert(n)\nROOT d = f32[<=6] set-dimension-size(x, m), dimensions={0}",
        "slice": 'ROOT d = f32[<=6] custom-call(x, n), custom_call_target="SliceToDynamic"',
    }
    text = f"ENTRY e {{ x = f32[6] parameter(0)\nn = {kind}[] parameter(1)\n{sized[opcode]} }}"
    module, x = hlo.parse(text), np.arange(6, dtype=np.float32)
    n = np.array(4, module.entry.parameters[1].shape.element_type.dtype)
    assert emit_c.compile(module, optimize=optimize)(x, n).tolist() == [0, 1, 2, 3]
    assert interpreter.evaluate(module, x, n).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("shape", ["<=65", "65"])
@pytest.mark.parametrize("size", [-1, 0, 2, 65, 66, 1_000_000])
def test_sizes_that_are_set_are_within_their_bounds(size: int, shape: str, optimize: bool) -> None:
    text = f"""ENTRY e {{ x = s32[65] parameter(0)
  n = s32[] parameter(1)
  d = s32[{shape}] set-dimension-size(x, n), dimensions={{0}}
  ROOT g = s32[] get-dimension-size(d), dimensions={{0}} }}"""
    module = hlo.parse(text)
    given = np.zeros(65, np.int32), np.int32(size)
    want = 65 if shape == "65" else min(max(size, 0), 65)
    assert interpreter.evaluate(module, *given) == want
    assert interpreter.evaluate(optimizer.optimize(module), *given) == want
    assert emit_c.compile(module, optimize=optimize)(*given) == want


def test_a_sum_that_counts_its_additions_is_not_padded_with_0():
    """a + b + 1 is as associative as a sum, but 0 is not its identity."""
    text = entry(
        "x = s32[6] parameter(0)\nn = s32[] parameter(1)\n"
        "d = s32[<=6] set-dimension-size(x, n), dimensions={0}\nz = s32[] constant(-1)\n"
        "ROOT r = s32[] reduce(d, z), dimensions={0}, to_apply=counting",
        "counting { a = s32[] parameter(0)  b = s32[] parameter(1)  one = s32[] constant(1)\n"
        "  c = s32[] add(a, b)  ROOT s = s32[] add(c, one) }",
    )
    arguments = np.arange(6, dtype=np.int32), np.int32(4)
    assert emit_c.compile(hlo.parse(text))(*arguments) == 0 + 1 + 2 + 3 + 4 - 1
