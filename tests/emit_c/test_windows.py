"""Windows that run along an axis, and rows of windows: C folds what the interpreter folds."""

import numpy as np
import pytest
from strategies.compiled import check

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import BITS, ROUNDING, compare

COMPUTATIONS = "\n".join(
    f"{name} {{\nx = {{T}}[] parameter(0)\ny = {{T}}[] parameter(1)\n"
    f"ROOT r = {{T}}[] {opcode}(x, y)\n}}"
    for name, opcode in {"sum": "add", "most": "maximum", "least": "minimum"}.items()
) + """
chosen {
x = {T}[] parameter(0)
y = {T}[] parameter(1)
g = pred[] compare(x, y), direction=GE
ROOT r = {T}[] select(g, x, y)
}
"""  # fmt: skip
# The operand's shape, the result's, and the window.
WINDOWS = {
    "prefix of rows": ("5,37", "5,37", "size=1x37 pad=0_0x36_0"),
    "suffix of rows": ("5,37", "5,37", "size=1x37 pad=0_0x0_36"),
    "prefix of columns": ("37,5", "37,5", "size=37x1 pad=36_0x0_0"),
    "suffix of columns": ("9,1500", "9,1500", "size=9x1 pad=0_8x0_0"),
    "prefix between": ("3,7,1100", "3,7,1100", "size=1x7x1 pad=0_0x6_0x0_0"),
    "without the last": ("3,20", "3,20", "size=1x20 pad=0_0x20_-1"),
    "without the first": ("3,20", "3,20", "size=1x20 pad=0_0x-1_20"),
    "longer than needed": ("50", "50", "size=90 pad=89_0"),
    "more outputs": ("10", "15", "size=15 pad=14_5"),
    "one element": ("1", "1", "size=1 pad=0_0"),
    "nearly a prefix": ("40", "39", "size=40 pad=38_0"),
    "channels last": ("2,9,10,16", "2,5,5,16",
                      "size=1x3x2x1 stride=1x2x2x1 pad=0_0x1_1x0_0x0_0"),
    "channels first": ("2,3,9,21", "2,3,5,10",
                       "size=1x1x3x3 stride=1x1x2x2 pad=0_0x0_0x1_1x0_0"),
    "same size": ("3,8,20", "3,8,20", "size=1x3x3 pad=0_0x1_1x1_1"),
    "holes in the window": ("6,30", "6,24", "size=1x3 rhs_dilate=1x4 pad=0_0x1_1"),
    "holes in the array": ("6,30", "11,59", "size=2x2 lhs_dilate=2x2 pad=1_0x1_0"),
    "holes between rows": ("6,30", "11,30", "size=3x3 lhs_dilate=2x1 pad=1_1x1_1"),
    "as large as a hole": ("3,5,7", "3,20,28",
                           "size=1x4x4 pad=0_0x3_3x3_3 lhs_dilate=1x4x4"),
    "larger than a hole": ("6,30", "15,59", "size=3x5 pad=3_3x2_2 lhs_dilate=2x2"),
    "cropped holes": ("9,30", "4,28", "size=4x3 stride=3x2 pad=-3_1x-1_-1 lhs_dilate=2x2"),
    "holes on both sides": ("6,30", "8,56", "size=2x2 rhs_dilate=3x3 lhs_dilate=2x2"),
    "far outside": ("4,6", "4,14", "size=1x3 pad=0_0x5_5"),
    "cropped": ("4,20", "4,12", "size=1x3 pad=0_0x-3_-3"),
    "long rows": ("2,2500", "2,1252", "size=1x4 stride=1x2 pad=0_0x3_3"),
    "a prime number of columns": ("4,1031", "2,1031", "size=3x1 pad=0_0x0_0"),
    "a long window": ("300", "280", "size=21"),
    "long windows with padding": ("3,70", "3,40", "size=1x20 stride=1x2 pad=0_0x14_14"),
    "long windows with holes": ("2,90", "2,51", "size=1x17 rhs_dilate=1x3 pad=0_0x5_4"),
    "windows longer than rows": ("3,12", "3,9", "size=1x20 pad=0_0x8_8"),
    "long windows over long rows": ("2500", "834", "size=33 stride=3 pad=16_16"),
    "nothing to fold": ("0,4", "3,4", "size=1x1 pad=0_3x0_0"),
}  # fmt: skip


def values(element_type, dims):
    """Numbers with all that is special about floats, but infinities of both signs."""
    kind = ELEMENT_TYPES[element_type]
    generator = np.random.default_rng(5)
    if not kind.is_floating:
        return generator.integers(-50, 50, dims).astype(kind.dtype)
    made = np.asarray(generator.standard_normal(dims) * 4)
    made[generator.random(dims) < 0.2] = -0.0
    made[generator.random(dims) < 0.1] = 0.0
    made[generator.random(dims) < 0.02] = np.inf
    made[generator.random(dims) < 0.01] = np.nan
    return made.astype(kind.dtype)


def both(text, *arguments, promise):
    return check(f"HloModule m\n{text}", promise, arguments=arguments).source


@pytest.mark.parametrize(
    ("name", "element_type"),
    [(name, "f32") for name in WINDOWS]
    + [(name, t) for name in ("prefix of rows", "same size", "long rows") for t in ("bf16", "s8")],
)
def test_windows(name, element_type):
    given, made, window = WINDOWS[name]
    lines = [f"x = {{T}}[{given}] parameter(0)", "z = {T}[] parameter(1)"]
    lines += [
        f"r_{k} = {{T}}[{made}] reduce-window(x, z), window={{{window}}}, to_apply={k}"
        for k in ("sum", "most", "least", "chosen")
    ]
    results = ", ".join([f"{{T}}[{made}]"] * 4)
    lines.append(f"ROOT r = ({results}) tuple(r_sum, r_most, r_least, r_chosen)")
    text = COMPUTATIONS + "ENTRY e {\n" + "\n".join(lines) + "\n}"
    dims = tuple(map(int, given.split(",")))
    arguments = values(element_type, dims), values(element_type, ())
    exact = element_type == "s8"
    both(text.replace("{T}", element_type), *arguments, promise=BITS if exact else ROUNDING)


@pytest.mark.parametrize(
    ("dims", "window"),
    [("6,50", "size=1x50 pad=0_0x49_0"), ("50,6", "size=50x1 pad=49_0x0_0"),
     ("9,40", "size=3x3 pad=1_1x1_1")],
)  # fmt: skip
def test_windows_of_several_arrays(dims, window):
    """Where the largest number was, and which: the first of equal ones."""
    text = f"""best {{
v = f32[] parameter(0)
i = s32[] parameter(1)
w = f32[] parameter(2)
j = s32[] parameter(3)
g = pred[] compare(v, w), direction=GE
a = f32[] select(g, v, w)
b = s32[] select(g, i, j)
ROOT t = (f32[], s32[]) tuple(a, b)
}}
ENTRY e {{
x = f32[{dims}] parameter(0)
n = s32[{dims}] iota(), iota_dimension=1
l = f32[] constant(-inf)
z = s32[] constant(-1)
ROOT r = (f32[{dims}], s32[{dims}]) reduce-window(x, n, l, z), window={{{window}}}, to_apply=best
}}"""
    generator = np.random.default_rng(6)
    both(
        text,
        generator.integers(0, 9, tuple(map(int, dims.split(",")))).astype(np.float32),
        promise=BITS,
    )


def test_a_running_window_takes_a_step_an_output():
    text = """sum {
x = f32[] parameter(0)
y = f32[] parameter(1)
ROOT r = f32[] add(x, y)
}
ENTRY e {
x = f32[200000] parameter(0)
z = f32[] constant(0)
ROOT r = f32[200000] reduce-window(x, z), window={size=200000 pad=199999_0}, to_apply=sum
}"""
    executable = emit_c.compile(hlo.parse(f"HloModule m\n{text}"))
    x = np.ones(200000, np.float32)
    assert compare(executable(x), np.arange(1, 200001, dtype=np.float32)) is None
