"""Opcodes that are no single expression: C gives what the interpreter gives."""

import numpy as np
import pytest
from strategies.compiled import check, entry

import emit_c
import hlo
from interpreter.compare import BITS, ROUNDING, compare

ADD = "add { x = {T}[] parameter(0)  y = {T}[] parameter(1)  ROOT s = {T}[] add(x, y) }"
MAX = "max { x = {T}[] parameter(0)  y = {T}[] parameter(1)  ROOT s = {T}[] maximum(x, y) }"
LESS = """less { a = {T}[] parameter(0)  b = {T}[] parameter(1)  c = s32[] parameter(2)
  d = s32[] parameter(3)  ROOT l = pred[] compare(a, b), direction=LT }"""


MOVEMENT = {
    "transpose": "x = {T}[2,3,4] parameter(0)\n"
    "ROOT r = {T}[4,2,3] transpose(x), dimensions={2,0,1}",
    "reshape": "x = {T}[4,6] parameter(0)\nROOT r = {T}[3,2,4] reshape(x)",
    "slice": "x = {T}[9,5] parameter(0)\nROOT r = {T}[3,2] slice(x), slice={[1:9:3],[2:4]}",
    "reverse": "x = {T}[4,5] parameter(0)\nROOT r = {T}[4,5] reverse(x), dimensions={1}",
    "broadcast": "x = {T}[3] parameter(0)\nROOT r = {T}[2,3,2] broadcast(x), dimensions={1}",
    "pad": "x = {T}[3,4] parameter(0)\nv = {T}[] parameter(1)\n"
    "ROOT r = {T}[9,2] pad(x, v), padding=2_2_1x-1_-1",
    "concatenate": "x = {T}[2,3] parameter(0)\ny = {T}[2,1] parameter(1)\n"
    "z = {T}[2,0] parameter(2)\n"
    "ROOT r = {T}[2,6] concatenate(x, y, z, y, y), dimensions={1}",
    "bitcast": "x = {T}[2,3,4]{0,2,1} parameter(0)\nROOT r = {T}[12,2]{1,0} bitcast(x)",
    "gather": "x = {T}[5,4] parameter(0)\ni = s32[3,2] parameter(1)\n"
    "ROOT r = {T}[3,2,2] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, "
    "start_index_map={0,1}, index_vector_dim=1, slice_sizes={2,2}",
    "dynamic-slice": "x = {T}[5,4] parameter(0)\ni = s32[] parameter(1)\nj = s32[] parameter(2)\n"
    "ROOT r = {T}[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}",
    "dynamic-update-slice": "x = {T}[5,4] parameter(0)\nu = {T}[2,2] parameter(1)\n"
    "i = s64[] parameter(2)\nROOT r = {T}[5,4] dynamic-update-slice(x, u, i, i)",
    "copy": "x = {T}[3] parameter(0)\nROOT r = {T}[3] copy(x)",
    "nothing": "x = {T}[0,3] parameter(0)\nROOT r = {T}[3,0] transpose(x), dimensions={1,0}",
    "scalar": "x = {T}[] parameter(0)\nROOT r = {T}[1,1] broadcast(x), dimensions={}",
}


@pytest.mark.parametrize("name", MOVEMENT)
@pytest.mark.parametrize("element_type", ["f32", "s4", "bf16"])
def test_movement(name, element_type):
    check(entry(MOVEMENT[name].replace("{T}", element_type)))


def test_iota_counts_in_every_dimension():
    check(entry("a = s4[20] iota(), iota_dimension=0\nb = bf16[3,300] iota(), iota_dimension=1\n"
                "ROOT r = (s4[20], bf16[3,300]) tuple(a, b)"))  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32[3]", "s32[3]"),
        ("f32[3]", "u8[3,4]"),
        ("u8[3,4]", "f32[3]"),
        ("u8[2]", "s4[2,2]"),
        ("f64[2]", "bf16[2,4]"),
        ("s4[3,2]", "s8[3]"),
    ],
)
def test_bitcast_convert(source, target):
    check(entry(f"x = {source} parameter(0)\nROOT r = {target} bitcast-convert(x)"))


@pytest.mark.parametrize("dimensions", ["0", "1", "2", "0,2", "1,2", "0,1,2"])
@pytest.mark.parametrize("element_type", ["f32", "s8", "bf16"])
def test_reduce(dimensions, element_type):
    kept = [str(n) for d, n in enumerate((5, 6, 40)) if str(d) not in dimensions.split(",")]
    text = f"""x = {{T}}[5,6,40] parameter(0)
z = {{T}}[] parameter(1)
s = {{T}}[{",".join(kept)}] reduce(x, z), dimensions={{{dimensions}}}, to_apply=add
m = {{T}}[{",".join(kept)}] reduce(x, z), dimensions={{{dimensions}}}, to_apply=max
ROOT r = ({{T}}[{",".join(kept)}], {{T}}[{",".join(kept)}]) tuple(s, m)"""
    made = entry(text, f"{ADD}\n{MAX}").replace("{T}", element_type)
    check(made, BITS if element_type == "s8" else ROUNDING)


def test_maximum_keeps_nan_and_knows_the_zeros():
    text = entry("x = f32[4,64] parameter(0)\nz = f32[] constant(-inf)\n"
                 "ROOT r = f32[4] reduce(x, z), dimensions={1}, to_apply=max", MAX)  # fmt: skip
    module = hlo.parse(text.replace("{T}", "f32"))
    x = np.full((4, 64), -0.0, np.float32)
    x[0, 33] = np.nan
    x[1, 63] = 0.0
    x[2, 5] = np.inf
    got = emit_c.compile(module, optimize=False)(x)
    assert compare(got, np.array([np.nan, 0.0, np.inf, -0.0], np.float32)) is None


def test_variadic_reduce_with_a_computation():
    before = """best { v = f32[] parameter(0)  i = s32[] parameter(1)  w = f32[] parameter(2)
  j = s32[] parameter(3)  g = pred[] compare(v, w), direction=GE
  a = f32[] select(g, v, w)  b = s32[] select(g, i, j)  ROOT t = (f32[], s32[]) tuple(a, b) }"""
    for shape, kept, dimension in (("6,20", "6", 1), ("6,20", "20", 0)):
        check(entry(f"""x = f32[{shape}] parameter(0)
n = s32[{shape}] iota(), iota_dimension={dimension}
l = f32[] constant(-inf)
z = s32[] constant(0)
ROOT r = (f32[{kept}], s32[{kept}]) reduce(x, n, l, z), dimensions={{{dimension}}},
  to_apply=best""",
                    before))  # fmt: skip


WINDOWED = {
    "sum": ("add", "window={size=3 stride=2 pad=1_1}", "5"),
    "dilated": ("max", "window={size=2 pad=2_0 lhs_dilate=2 rhs_dilate=3}", "16"),
    "prefix": ("add", "window={size=9 pad=8_0}", "9"),
}


@pytest.mark.parametrize("name", WINDOWED)
def test_reduce_window(name):
    computation, window, size = WINDOWED[name]
    text = f"""x = f32[9] parameter(0)
z = f32[] parameter(1)
ROOT r = f32[{size}] reduce-window(x, z), {window}, to_apply={computation}"""
    check(entry(text, f"{ADD}\n{MAX}").replace("{T}", "f32"), ROUNDING)


def test_select_and_scatter():
    before = (
        ADD.replace("{T}", "f32")
        + """
ge { x.1 = f32[] parameter(0)  y.1 = f32[] parameter(1)
  ROOT g = pred[] compare(x.1, y.1), direction=GE }"""
    )
    check(entry("""x = f32[6,6] parameter(0)
s = f32[3,2] parameter(1)
z = f32[] parameter(2)
ROOT r = f32[6,6] select-and-scatter(x, s, z), window={size=2x3 stride=2x3},
  select=ge, scatter=add""",
                before), ROUNDING)  # fmt: skip


PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
BATCHED = "lhs_batch_dims={0}, rhs_batch_dims={0}, "
BATCHED += "lhs_contracting_dims={2}, rhs_contracting_dims={1}"
DOTS = [
    ("f32[3,4]", "f32[4,5]", "f32[3,5]", PLAIN),
    ("f32[40,300]", "f32[300,50]", "f32[40,50]", PLAIN),
    ("f32[300,40]", "f32[50,300]", "f32[40,50]",
     "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    ("f64[2,30,20]", "f64[2,20,33]", "f64[2,30,33]",
     BATCHED),
    ("bf16[20,30]", "bf16[30,40]", "bf16[20,40]", PLAIN),
    ("f16[20,30]", "f16[30,40]", "f32[20,40]", PLAIN),
    ("s8[20,30]", "s8[30,40]", "s32[20,40]", PLAIN),
    ("c64[5,6]", "c64[6,7]", "c64[5,7]", PLAIN),
    ("f32[1,200]", "f32[200,300]", "f32[1,300]", PLAIN),
    ("f32[4,5,6]", "f32[6,4]", "f32[5]", "lhs_contracting_dims={0,2}, rhs_contracting_dims={1,0}"),
    ("f32[0,5]", "f32[5,6]", "f32[0,6]", PLAIN),
    ("f32[70,0]", "f32[0,90]", "f32[70,90]", PLAIN),
]  # fmt: skip


@pytest.mark.parametrize(("lhs", "rhs", "result", "roles"), DOTS)
def test_dot(lhs, rhs, result, roles):
    text = f"x = {lhs} parameter(0)\ny = {rhs} parameter(1)\nROOT r = {result} dot(x, y), {roles}"
    check(entry(text), BITS if "s8" in lhs else ROUNDING)


CONVOLUTIONS = [
    ("f32[2,7,8,3]", "f32[3,2,3,8]", "f32[2,4,8,8]",
     "window={size=3x2 stride=2x1 pad=1_1x0_1}, dim_labels=b01f_01io->b01f"),
    ("f32[2,3,7,8]", "f32[8,3,3,3]", "f32[2,8,7,8]",
     "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x0}, dim_labels=bf01_oi01->bf01"),
    ("f32[1,6,8]", "f32[3,1,8]", "f32[1,6,8]",
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=8"),
    ("f32[1,6,8]", "f32[3,4,10]", "f32[1,6,10]",
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=2"),
    ("f32[4,6,3]", "f32[2,3,12]", "f32[2,5,12]",
     "window={size=2}, dim_labels=b0f_0io->b0f, batch_group_count=2"),
    ("bf16[1,5,2]", "bf16[3,2,8]", "bf16[1,11,8]",
     "window={size=3 pad=2_2 lhs_dilate=2 rhs_dilate=1}, dim_labels=b0f_0io->b0f"),
    ("s8[1,5,2]", "s8[3,2,2]", "s32[1,3,2]", "window={size=3}, dim_labels=b0f_0io->b0f"),
]  # fmt: skip


@pytest.mark.parametrize(("lhs", "rhs", "result", "how"), CONVOLUTIONS)
def test_convolution(lhs, rhs, result, how):
    text = f"x = {lhs} parameter(0)\ny = {rhs} parameter(1)\n"
    text += f"ROOT r = {result} convolution(x, y), {how}"
    check(entry(text), BITS if "s8" in lhs else ROUNDING)


def test_scatter_drops_what_does_not_fit_and_combines_the_rest():
    text = entry("""x = f32[4,3] parameter(0)
i = s32[6,1] parameter(1)
u = f32[6,3] parameter(2)
ROOT r = f32[4,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add""", ADD)  # fmt: skip
    check(text.replace("{T}", "f32"), ROUNDING)


@pytest.mark.parametrize("element_type", ["f32", "bf16", "s32"])
@pytest.mark.parametrize("axis", [0, 1])
def test_sort_is_stable_and_carries_others_along(element_type, axis):
    text = f"""x = {{T}}[17,33] parameter(0)
n = s32[17,33] iota(), iota_dimension={axis}
ROOT r = ({{T}}[17,33], s32[17,33]) sort(x, n), dimensions={{{axis}}}, to_apply=less"""
    check(entry(text, LESS).replace("{T}", element_type))


@pytest.mark.parametrize("largest", ["true", "false"])
def test_topk(largest):
    check(
        entry(f"""x = bf16[3,40] parameter(0)
ROOT r = (bf16[3,5], s32[3,5]) topk(x), k=5, largest={largest}""")
    )


@pytest.mark.parametrize("algorithm", ["rng_three_fry", "rng_philox", "rng_default"])
@pytest.mark.parametrize("data", ["u32[5,6]", "u32[7]", "u64[5]", "u8[9]", "s4[3]", "u32[]"])
def test_random_bits(algorithm, data):
    state = "u64[2]" if algorithm == "rng_three_fry" else "u64[3]"
    check(
        entry(f"""s = {state} parameter(0)
ROOT r = ({state}, {data}) rng-bit-generator(s), algorithm={algorithm}""")
    )


@pytest.mark.parametrize("state", ["u64[2]", "u32[6]"])
def test_random_bits_without_the_next_state(state):
    check(
        entry(f"""s = {state} parameter(0)
ROOT r = u32[5] rng-bit-generator(s), algorithm=rng_philox""")
    )


def test_map_with_branches_and_loops_inside():
    before = """step { p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  v = s32[] get-tuple-element(p), index=1
  one = s32[] constant(1)  j = s32[] subtract(i, one)  w = s32[] add(v, v)
  ROOT t = (s32[], s32[]) tuple(j, w) }
more { p.1 = (s32[], s32[]) parameter(0)  i.1 = s32[] get-tuple-element(p.1), index=0
  zero = s32[] constant(0)  ROOT g = pred[] compare(i.1, zero), direction=GT }
up { a = s32[] parameter(0)  ROOT n = s32[] negate(a) }
same { a.1 = s32[] parameter(0)  ROOT c = s32[] copy(a.1) }
power { x = s32[] parameter(0)  y = s32[] parameter(1)
  s = (s32[], s32[]) tuple(x, y)  w.1 = (s32[], s32[]) while(s), condition=more, body=step
  v.1 = s32[] get-tuple-element(w.1), index=1  two = s32[] constant(2)
  big = pred[] compare(x, two), direction=GT
  ROOT r.1 = s32[] conditional(big, v.1, y), true_computation=up, false_computation=same }"""
    check(entry("""m = s32[50] parameter(0)
n = s32[50] parameter(1)
ROOT q = s32[50] map(m, n), dimensions={0}, to_apply=power""", before))  # fmt: skip


def test_while_turns_its_buffers_round():
    before = """cond { p = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(5)
  ROOT l = pred[] compare(i, n), direction=LT }
body { q = (s32[], f32[4], f32[4]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  a = f32[4] get-tuple-element(q), index=1
  b = f32[4] get-tuple-element(q), index=2  one = s32[] constant(1)  k = s32[] add(j, one)
  c = f32[4] add(a, b)  ROOT t = (s32[], f32[4], f32[4]) tuple(k, b, c) }"""
    for start in range(7):
        check(entry(f"""z = s32[] constant({start})
x = f32[4] parameter(0)
y = f32[4] parameter(1)
s = (s32[], f32[4], f32[4]) tuple(z, x, y)
w = (s32[], f32[4], f32[4]) while(s), condition=cond, body=body
f = f32[4] get-tuple-element(w), index=2
ROOT r = (f32[4], (s32[], f32[4], f32[4])) tuple(f, w)""", before))  # fmt: skip


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_conditional_takes_the_last_branch_out_of_range(index):
    before = """a { x = f32[3] parameter(0)  ROOT n = f32[3] negate(x) }
b { x.1 = f32[3] parameter(0)  ROOT n.1 = f32[3] exponential(x.1) }
c { x.2 = f32[3] parameter(0)  ROOT n.2 = f32[3] add(x.2, x.2) }"""
    check(
        entry(
            f"""i = s32[] constant({index})
x.3 = f32[3] parameter(0)
y = f32[3] parameter(1)
ROOT r = f32[3] conditional(i, x.3, y, x.3), branch_computations={{a, b, c}}""",
            before,
        ),
        ROUNDING,
    )


@pytest.mark.parametrize("reverse", ["true", "false"])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(reverse, axis):
    before = """step { x = f32[4] parameter(0)  c = f32[4] parameter(1)  a = f32[4] add(x, c)
  n = f32[4] negate(a)  ROOT t = (f32[4], f32[4]) tuple(n, a) }"""
    shape = "5,4" if axis == 0 else "4,5"
    check(entry(f"""x.1 = f32[{shape}] parameter(0)
z = f32[4] parameter(1)
ROOT r = (f32[{shape}], f32[4]) scan(x.1, z), dimensions={{{axis}}}, num_carries=1,
  is_reverse={reverse}, to_apply=step""", before))  # fmt: skip


FUSIONS = {
    "softmax": """x = f32[6,50] parameter(0)
l = f32[] constant(-inf)
m = f32[6] reduce(x, l), dimensions={1}, to_apply=max
b = f32[6,50] broadcast(m), dimensions={0}
d = f32[6,50] subtract(x, b)
e = f32[6,50] exponential(d)
z = f32[] constant(0)
s = f32[6] reduce(e, z), dimensions={1}, to_apply=add
c = f32[6,50] broadcast(s), dimensions={0}
ROOT q = f32[6,50] divide(e, c)""",
    "moved": """x = f32[6,50] parameter(0)
t = f32[50,6] transpose(x), dimensions={1,0}
s = f32[25,6] slice(t), slice={[0:50:2],[0:6]}
h = f32[5,5,6] reshape(s)
v = f32[5,5,6] reverse(h), dimensions={1}
z = f32[] constant(1)
p = f32[6,5,8] pad(v, z), padding=0_1x0_0x1_1
n = f32[6,5,8] negate(p)
ROOT q = f32[12,5,8] concatenate(n, p), dimensions={0}""",
    "several": """x = f32[6,50] parameter(0)
n = f32[6,50] negate(x)
e = f32[6,50] exponential(n)
ROOT q = (f32[6,50], f32[6,50], f32[6,50]) tuple(n, e, x)""",
    "updated": """x = f32[6,50] parameter(0)
n = f32[6,50] negate(x)
u = f32[2,2] slice(x), slice={[0:2],[0:2]}
i = s32[] constant(3)
d = f32[6,50] dynamic-update-slice(n, u, i, i)
ROOT q = f32[6,50] add(d, x)""",
}  # fmt: skip


@pytest.mark.parametrize("name", FUSIONS)
def test_a_fusion_gives_what_its_instructions_give(name):
    lines = FUSIONS[name]
    root = lines.split("ROOT q = ")[1].split(" ")[0]
    if root.startswith("("):
        root = lines.split("ROOT q = ")[1].split(") ")[0] + ")"
    fused = "fused {\n" + lines + "\n}"
    before = f"{ADD}\n{MAX}\n{fused}".replace("{T}", "f32")
    text = entry("x.9 = f32[6,50] parameter(0)\n"
                 f"ROOT r = {root} fusion(x.9), kind=kLoop, calls=fused",
                 before)  # fmt: skip
    check(text, ROUNDING)
    check(entry(lines, f"{ADD}\n{MAX}".replace("{T}", "f32")), ROUNDING)


MATRICES = {
    "cholesky": "x = {T}[2,4,4] parameter(0)\ny = {T}[2,4,4] dot(x, x), lhs_batch_dims={0}, "
    "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
    "a = {T}[2,4,4] cholesky(y), lower=true\nb = {T}[2,4,4] cholesky(y)\n"
    "ROOT r = ({T}[2,4,4], {T}[2,4,4]) tuple(a, b)",
    "batch-norm-inference": "x = {T}[3,4,5] parameter(0)\ns = {T}[4] parameter(1)\n"
    "o = {T}[4] parameter(2)\nm = {T}[4] parameter(3)\nv = {T}[4] multiply(o, o)\n"
    "ROOT r = {T}[3,4,5] batch-norm-inference(x, s, o, m, v), epsilon=0.1, feature_index=1",
    "batch-norm-training": "x = {T}[3,4,5] parameter(0)\ns = {T}[4] parameter(1)\n"
    "o = {T}[4] parameter(2)\nROOT r = ({T}[3,4,5], {T}[4], {T}[4]) "
    "batch-norm-training(x, s, o), epsilon=0.1, feature_index=1",
    "batch-norm-grad": "x = {T}[3,4,5] parameter(0)\ns = {T}[4] parameter(1)\n"
    "m = {T}[4] parameter(2)\n"
    "v = {T}[4] multiply(m, m)\ng = {T}[3,4,5] parameter(3)\nROOT r = ({T}[3,4,5], {T}[4], {T}[4]) "
    "batch-norm-grad(x, s, m, v, g), epsilon=0.1, feature_index=1",
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_matrices_and_normalization(name, element_type):
    check(entry(MATRICES[name].replace("{T}", element_type)), ROUNDING)


@pytest.mark.parametrize("element_type", ["f64", "c128"])
@pytest.mark.parametrize("left_side", ["true", "false"])
@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
def test_triangular_solve(element_type, left_side, lower, transpose):
    shape = "4,3" if left_side == "true" else "3,4"
    five = "(5, 0)" if element_type == "c128" else "5"
    text = f"""n = {element_type}[4,4] parameter(0)
b = {element_type}[{shape}] parameter(1)
i = s32[4,4] iota(), iota_dimension=0
j = s32[4,4] iota(), iota_dimension=1
e = pred[4,4] compare(i, j), direction=EQ
c = {element_type}[] constant({five})
f = {element_type}[4,4] broadcast(c), dimensions={{}}
a = {element_type}[4,4] select(e, f, n)
ROOT r = {element_type}[{shape}] triangular-solve(a, b), left_side={left_side}, lower={lower},
  transpose_a={transpose}"""
    check(entry(text), ROUNDING)


@pytest.mark.parametrize(
    ("kind", "source", "target", "length"),
    [
        ("FFT", "c64[3,12]", "c64[3,12]", "12"),
        ("IFFT", "c128[3,7,10]", "c128[3,7,10]", "7,10"),
        ("RFFT", "f32[3,6,9]", "c64[3,6,5]", "6,9"),
        ("IRFFT", "c64[2,6,5]", "f32[2,6,8]", "6,8"),
        ("IRFFT", "c128[5]", "f64[9]", "9"),
        ("IFFT", "c64[2,1]", "c64[2,1]", "0"),
    ],
)
def test_fft(kind, source, target, length):
    text = f"x = {source} parameter(0)\n"
    text += f"ROOT r = {target} fft(x), fft_type={kind}, fft_length={{{length}}}"
    check(entry(text), ROUNDING)


def test_constants_in_text_and_large_ones():
    numbers = ", ".join(str(n % 7) for n in range(3000))
    executable = check(entry(f"""a = s32[3000] constant({{{numbers}}})
b = s32[3000] parameter(0)
c = f32[3] constant({{nan, -0, 1e-45}})
d = s32[3000] add(a, b)
ROOT r = (s32[3000], s32[3000], f32[3]) tuple(a, d, c)"""))  # fmt: skip
    assert executable.memory.constants == 12000


def test_equal_kernels_are_emitted_once():
    layers = "\n".join(
        f"e{k} = f32[50] exponential({'x' if k == 0 else f'n{k - 1}'})\nn{k} = f32[50] negate(e{k})"
        for k in range(20)
    )
    executable = check(
        entry(f"x = f32[50] parameter(0)\n{layers}\nROOT r = f32[50] copy(n19)"), ROUNDING
    )
    # The first one reads the argument; the others write over what they read.
    assert executable.source.count("_kernel(f32 *restrict") == 3


def test_a_loop_that_fills_an_array_updates_it_in_place():
    before = """cond { p = (s32[], f32[40], f32[40], f32[40]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(40)
  ROOT l = pred[] compare(i, n), direction=LT }
body { q = (s32[], f32[40], f32[40], f32[40]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  xs = f32[40] get-tuple-element(q), index=1
  ys = f32[40] get-tuple-element(q), index=2  zs = f32[40] get-tuple-element(q), index=3
  one = s32[] constant(1)  k = s32[] add(j, one)
  x = f32[1] dynamic-slice(xs, j), dynamic_slice_sizes={1}  e = f32[1] negate(x)
  new = f32[40] dynamic-update-slice(ys, e, j)
  kept = f32[1] dynamic-slice(zs, j), dynamic_slice_sizes={1}
  other = f32[40] dynamic-update-slice(zs, kept, one)
  ROOT t = (s32[], f32[40], f32[40], f32[40]) tuple(k, xs, new, other) }"""
    executable = check(entry("""z = s32[] constant(0)
x.1 = f32[40] parameter(0)
y = f32[40] parameter(1)
s = (s32[], f32[40], f32[40], f32[40]) tuple(z, x.1, y, y)
w = (s32[], f32[40], f32[40], f32[40]) while(s), condition=cond, body=body
f = f32[40] get-tuple-element(w), index=2
ROOT r = (f32[40], (s32[], f32[40], f32[40], f32[40]), f32[40]) tuple(f, w, y)""",
                             before))  # fmt: skip
    # `zs` is read for the last time before it is updated, so the loop copies nothing.
    body = executable.source.split("// computation body")[1].split("// computation")[0]
    assert ", 160)" not in body
    assert "__builtin_memcpy(new" not in executable.source


HANDS_ON = """q = (s32[], f32[3]) parameter(0)
  a = s32[] get-tuple-element(q), index=0  b = f32[3] get-tuple-element(q), index=1
  c = f32[3] copy(b)  ROOT t = (s32[], f32[3]) tuple(a, c)"""


@pytest.mark.parametrize("body", ["ROOT q = (s32[], f32[3]) parameter(0)", HANDS_ON])
def test_a_loop_that_changes_nothing_ends(body):
    before = f"""always {{ p = (s32[], f32[3]) parameter(0)  ROOT y = pred[] constant(true) }}
same {{ {body} }}"""
    check(entry("""i = s32[] constant(1)
x = f32[3] parameter(0)
s = (s32[], f32[3]) tuple(i, x)
ROOT w = (s32[], f32[3]) while(s), condition=always, body=same""", before))  # fmt: skip


def test_scalars_are_folded_as_they_are():
    check(entry("""x = f32[] parameter(0)
y = f32[] parameter(1)
a = f32[] reduce(x, y), dimensions={}, to_apply=add
b = f32[] reduce-window(x, y), window={}, to_apply=add
ROOT r = (f32[], f32[]) tuple(a, b)""", ADD.replace("{T}", "f32")))  # fmt: skip


def test_negative_constants_can_be_negated():
    check(
        entry("""a = s32[3] constant({-2, -2, -2})
b = f8e5m2[3] constant({-1.5, -1.5, -1.5})
c = c64[2] constant({(-1, -2), (-1, -2)})
d = s32[3] negate(a)
e = s32[3] abs(a)
f = s32[3] subtract(d, a)
g = f8e5m2[3] negate(b)
h = c64[2] negate(c)
ROOT r = (s32[3], s32[3], f8e5m2[3], c64[2]) tuple(e, f, g, h)""")
    )


@pytest.mark.parametrize("element_type", ["s64", "u32", "s16", "u8"])
def test_bits_of_constants_are_counted(element_type):
    # gcc 12 folds the processor's instruction for vectors of constants wrongly.
    check(
        entry(f"""a = {element_type}[2] constant({{48, 127}})
b = {element_type}[2] not(a)
c = {element_type}[2] popcnt(a)
d = {element_type}[2] popcnt(b)
e = {element_type}[2] count-leading-zeros(a)
ROOT r = ({element_type}[2], {element_type}[2], {element_type}[2]) tuple(c, d, e)""")
    )


def test_elements_of_four_bits_have_room():
    check(
        entry("""x = s4[12,17] parameter(0)
a = s4[12,17] negate(x)
b = s4[17,12] transpose(a), dimensions={1,0}
c = s4[17,12] add(b, b)
d = s4[12,17] transpose(c), dimensions={1,0}
e = s4[12,17] subtract(d, x)
f = s4[17,12] transpose(e), dimensions={1,0}
ROOT g = s4[12,17] transpose(f), dimensions={1,0}""")
    )


def test_a_loop_over_scalars_runs_in_variables():
    before = """cond { p = (s32[], f32[], pred[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(40)
  ROOT l = pred[] compare(i, n), direction=LT }
half { a.1 = f32[] parameter(0)  h = f32[] constant(0.5)  ROOT m.1 = f32[] multiply(a.1, h) }
twice { b = f32[] parameter(0)  ROOT t.1 = f32[] add(b, b) }
body { q = (s32[], f32[], pred[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  x = f32[] get-tuple-element(q), index=1
  f = pred[] get-tuple-element(q), index=2
  one = s32[] constant(1)  k = s32[] add(j, one)
  c = f32[] conditional(f, x, x), true_computation=half, false_computation=twice
  y = f32[] convert(j)  z = f32[] add(c, y)  g = pred[] not(f)
  ROOT t = (s32[], f32[], pred[]) tuple(k, z, g) }"""
    executable = check(entry("""o = s32[] constant(0)
start = f32[] parameter(0)
f.1 = pred[] constant(true)
s = (s32[], f32[], pred[]) tuple(o, start, f.1)
ROOT w = (s32[], f32[], pred[]) while(s), condition=cond, body=body""", before))  # fmt: skip
    assert "body_computation" not in executable.source
    assert "asked_to_stop(&patience)" in executable.source


def test_constants_keep_every_bit_of_their_digits():
    check(entry("""a = f32[8] constant({1, -0, 0.1, 1e-45, -3.4028235e38, 16777217, 0.3333333, 1e9})
b = f64[6] constant({0.1, -0, 5e-324, 1.7976931348623157e308, 0.30000000000000004, 1e22})
c = f32[8] reverse(a), dimensions={0}
d = f64[6] reverse(b), dimensions={0}
ROOT r = (f32[8], f64[6]) tuple(c, d)"""))  # fmt: skip
