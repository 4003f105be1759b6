"""Long sums: as accurate as the interpreter's, whatever is summed over; and what is left alone."""

import numpy as np
import pytest

import emit_c
import hlo
from interpreter import evaluate

# Equal numbers are the worst case: all roundings go in one direction.
N = 100_000
SUMS = {
    "rows": ("f32[100000,3]", "f32[3]", "reduce({}, zero), dimensions={{0}}"),
    "columns": ("f32[3,100000]", "f32[3]", "reduce({}, zero), dimensions={{1}}"),
    "all": ("f32[100000]", "f32[]", "reduce({}, zero), dimensions={{0}}"),
    "between": ("f32[2,100000,5]", "f32[2,5]", "reduce({}, zero), dimensions={{1}}"),
    "around": ("f32[1000,5,100]", "f32[5]", "reduce({}, zero), dimensions={{0,2}}"),
    "blocks": ("f32[100000,64]", "f32[64]", "reduce({}, zero), dimensions={{0}}"),
    "window": ("f32[100000]", "f32[1]", "reduce-window({}, zero), window={{size=100000}}"),
    "cumulative": (
        "f32[100000]",
        "f32[100000]",
        "reduce-window({}, zero), window={{size=100000 pad=99999_0}}",
    ),
    "halves": ("bf16[100000]", "f32[]", "reduce(wide, zero), dimensions={{0}}"),
}


@pytest.fixture(scope="module")
def module():
    """A module with all of the sums."""
    lines = ["HloModule sums", "add {", "  a = f32[] parameter(0)", "  b = f32[] parameter(1)"]
    lines += ["  ROOT s = f32[] add(a, b)", "}", "ENTRY e {", "  zero = f32[] constant(0)"]
    for number, (name, (given, made, sum_)) in enumerate(SUMS.items()):
        lines.append(f"  of_{name} = {given} parameter({number})")
        if given.startswith("bf16"):
            lines.append(f"  wide = f32[100000] convert(of_{name})")
        lines.append(f"  {name} = {made} {sum_.format(f'of_{name}')}, to_apply=add")
    shapes = ", ".join(made for _, made, _ in SUMS.values())
    lines += [f"  ROOT all_sums = ({shapes}) tuple({', '.join(SUMS)})", "}"]
    return hlo.parse("\n".join(lines))


@pytest.fixture(scope="module", params=["interpreter", "c"])
def errors(request, module):
    """The relative error of each sum."""
    each = np.float32(1e-5)
    numbers = [np.full(p.shape.dims, each, p.shape.element_type.dtype)
               for p in module.entry.parameters]  # fmt: skip
    call = emit_c.compile(module) if request.param == "c" else lambda *x: evaluate(module, *x)
    found = call(*numbers)
    wanted = [float(x.reshape(-1)[0]) * N for x in numbers]
    return {
        name: abs(float(value.reshape(-1)[-1]) - want) / want
        for name, value, want in zip(SUMS, found, wanted, strict=True)
    }


@pytest.mark.parametrize("name", SUMS)
def test_a_hundred_thousand_numbers(errors, name):
    assert errors[name] < 5e-7
