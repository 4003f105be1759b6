"""Fusions give what their instructions give, and equal kernels are emitted once."""

import pytest
from emitted import checked
from strategies.compiled import ADD, MAX, check, entry

from interpreter.numbers.compare import ROUNDING

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


def test_equal_kernels_are_emitted_once():
    layers = "\n".join(
        f"e{k} = f32[50] exponential({'x' if k == 0 else f'n{k - 1}'})\nn{k} = f32[50] negate(e{k})"
        for k in range(20)
    )
    made = checked(
        entry(f"x = f32[50] parameter(0)\n{layers}\nROOT r = f32[50] copy(n19)"), ROUNDING
    )
    # The first one reads the argument; the others write over what they read.
    assert len(made.program.parts.kernels) == 3


def test_a_fusion_is_told_by_the_names_of_its_operands():
    fused = "fused {\na = f32[9] parameter(0)\nb = f32[9] parameter(1)\n"
    fused += "n = f32[9] negate(b)\nROOT s = f32[9] subtract(a, n)\n}"
    text = entry("""x = f32[9] parameter(0)
y.1 = f32[9] parameter(1)
ROOT r = f32[9] fusion(x, y.1), kind=kLoop, calls=fused""", fused)  # fmt: skip
    lines = check(text).source.split("\n")
    kernel = lines.index("// %n = f32[9]{0} negate(%y.1)")
    assert lines[kernel + 1] == "// %s = f32[9]{0} subtract(%x, %n)"


@pytest.mark.parametrize(("start", "kernels"), [(25, 1), (24, 2)])
def test_what_slices_share_is_stored_and_what_they_part_is_not(start, kernels):
    fused = f"""fused {{
a = f32[8,50] parameter(0)
n = f32[8,50] multiply(a, a)
low = f32[8,25] slice(n), slice={{[0:8], [0:25]}}
high = f32[8,25] slice(n), slice={{[0:8], [{start}:{start + 25}]}}
ROOT s = f32[8,25] subtract(low, high)
}}"""
    text = entry("""x = f32[8,50] parameter(0)
ROOT r = f32[8,25] fusion(x), kind=kLoop, calls=fused""", fused)  # fmt: skip
    assert len(checked(text).program.parts.kernels) == kernels
