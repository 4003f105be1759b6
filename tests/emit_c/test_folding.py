"""Folds over dimensions, windows and steps: C gives what the interpreter gives."""

import numpy as np
import pytest
from emitted import checked
from strategies.compiled import ADD, MAX, check, entry

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, ROUNDING, compare


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


@pytest.mark.parametrize("dimensions", ["0", "1", "0,1"])
@pytest.mark.parametrize("element_type", ["c64", "c128"])
def test_parts_of_complex_numbers_are_added_up_in_lanes(dimensions, element_type):
    kept = ",".join(str(n) for d, n in enumerate((30, 70)) if str(d) not in dimensions.split(","))
    text = f"""x = {{T}}[30,70] parameter(0)
z = {{T}}[] parameter(1)
y = {{T}}[30,70] multiply(x, x)
ROOT r = {{T}}[{kept}] reduce(y, z), dimensions={{{dimensions}}}, to_apply=add"""
    made = checked(entry(text, ADD).replace("{T}", element_type), ROUNDING)
    assert f"complex_{element_type}" in made.callees


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


def test_scalars_are_folded_as_they_are():
    check(entry("""x = f32[] parameter(0)
y = f32[] parameter(1)
a = f32[] reduce(x, y), dimensions={}, to_apply=add
b = f32[] reduce-window(x, y), window={}, to_apply=add
ROOT r = (f32[], f32[]) tuple(a, b)""", ADD.replace("{T}", "f32")))  # fmt: skip


@pytest.mark.parametrize("optimize", [False, True])
def test_many_truths_add_up_to_true(optimize):
    """Lanes that are all true are as many as a byte may count, and that often."""
    module = hlo.parse("""HloModule m
f { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT c = pred[] add(a, b) }
ENTRY e {
  x = pred[4,128,256] parameter(0)
  z = pred[] constant(false)
  ROOT r = pred[4] reduce(x, z), dimensions={1,2}, to_apply=f
}""")
    executable = emit_c.compile(module, optimize=optimize)
    assert executable(np.ones((4, 128, 256), np.bool_)).all()
    assert not executable(np.zeros((4, 128, 256), np.bool_)).any()


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("start", ["0", "-0.0"])
@pytest.mark.parametrize("rows", ["3", "4", "33", "5,7"])
@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16"])
def test_a_sum_of_minus_zeros_is_what_it_begins_with(element_type, rows, start, optimize):
    sizes, count = f"{rows},3", rows.count(",") + 1
    text = entry(f"""x = {{T}}[{sizes}] parameter(0)
y = {{T}}[3,{rows}] parameter(1)
z = {{T}}[] constant({start})
a = {{T}}[3] reduce(x, z), dimensions={{{"0,1"[: 2 * count - 1]}}}, to_apply=add
b = {{T}}[3] reduce(y, z), dimensions={{{"1,2"[: 2 * count - 1]}}}, to_apply=add
c = {{T}}[] reduce(x, z), dimensions={{{"0,1,2"[: 2 * count + 1]}}}, to_apply=add
ROOT r = ({{T}}[3], {{T}}[3], {{T}}[]) tuple(a, b, c)""", ADD)  # fmt: skip
    module = hlo.parse(text.replace("{T}", element_type))
    given = [
        np.full(p.shape.dims, -0.0, p.shape.element_type.dtype) for p in module.entry.parameters
    ]
    for sums in (evaluate(module, *given), emit_c.compile(module, optimize=optimize)(*given)):
        for s in sums:
            assert np.all(np.signbit(s) == (start == "-0.0"))


@pytest.mark.parametrize("optimize", [False, True])
def test_a_scan_may_be_fused(optimize):
    before = """step { p = f32[] parameter(0)  q = f32[] parameter(1)
  n = f32[] add(p, q)  ROOT t = (f32[], f32[]) tuple(n, n) }
fused { x.1 = f32[4] parameter(0)  i = f32[] constant(0)
  s = (f32[4], f32[]) scan(x.1, i), dimensions={0}, num_carries=1, to_apply=step
  y = f32[4] get-tuple-element(s), index=0  ROOT z = f32[4] negate(y) }"""
    text = entry(
        "x = f32[4] parameter(0)\nROOT r = f32[4] fusion(x), kind=kLoop, calls=fused", before
    )
    x = np.array([1, 2, 3, 4], np.float32)
    got = emit_c.compile(hlo.parse(text), optimize=optimize)(x)
    assert got.tolist() == [-1, -3, -6, -10]


def every_pair(element_type: str) -> tuple[np.ndarray, np.ndarray]:
    """All floats of 16 bits, and beside each of them many others."""
    numbers = np.arange(1 << 16, dtype=np.uint16)
    others = np.concatenate([numbers[::-1], np.random.default_rng(0).permutation(numbers)])
    dtype = ELEMENT_TYPES[element_type].dtype
    return np.tile(numbers, 2).view(dtype), others.view(dtype)


@pytest.mark.parametrize("element_type", ["bf16", "f16"])
@pytest.mark.parametrize("opcode", ["maximum", "minimum"])
def test_small_floats_are_compared_as_they_are_stored(opcode, element_type):
    module = f"""HloModule extremes
region {{
  x = {element_type}[] parameter(0)
  y = {element_type}[] parameter(1)
  ROOT r = {element_type}[] {opcode}(x, y)
}}
ENTRY e {{
  x = {element_type}[131072] parameter(0)
  y = {element_type}[131072] parameter(1)
  one = {element_type}[1,131072] reshape(x)
  other = {element_type}[1,131072] reshape(y)
  both = {element_type}[2,131072] concatenate(one, other), dimensions={{0}}
  start = {element_type}[] constant({"-inf" if opcode == "maximum" else "inf"})
  columns = {element_type}[131072] reduce(both, start), dimensions={{0}}, to_apply=region
  rows = {element_type}[2] reduce(both, start), dimensions={{1}}, to_apply=region
  far = {element_type}[1024,128] reshape(x)
  few = {element_type}[128] reduce(far, start), dimensions={{0}}, to_apply=region
  pairs = {element_type}[131072] {opcode}(x, y)
  ROOT r = ({element_type}[131072], {element_type}[131072], {element_type}[2],
    {element_type}[128]) tuple(pairs, columns, rows, few)
}}"""
    x, y = every_pair(element_type)
    made = checked(module, optimize=True, arguments=(x, y))
    assert f"load_{element_type}" not in made.names


@pytest.mark.parametrize("element_type", ["bf16", "f16"])
def test_signs_of_small_floats_are_those_of_their_bits(element_type):
    module = f"""HloModule signs
ENTRY e {{
  x = {element_type}[131072] parameter(0)
  y = {element_type}[131072] parameter(1)
  less = pred[131072] compare(x, y), direction=LT
  negative = {element_type}[131072] negate(x)
  size = {element_type}[131072] abs(negative)
  chosen = {element_type}[131072] select(less, x, negative)
  ROOT r = ({element_type}[131072], {element_type}[131072]) tuple(size, chosen)
}}"""
    x, y = every_pair(element_type)
    made = checked(module, optimize=True, arguments=(x, y))
    assert f"store_{element_type}" not in made.names
