"""Windows along dimensions of run-time size, in C."""

import numpy as np
import pytest
from dynamic_windows import POOLED, convolved
from strategies.compiled import check, entry

import emit_c
import hlo
from interpreter.numbers.compare import ROUNDING

ADD = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT g = pred[] compare(a, b), direction=GE }
"""
BODIES = {
    "sums": "z = f32[] constant(2)\nROOT r = f32[<=6,3] reduce-window(x, z), "
    "window={size=2x2}, to_apply=add",
    "running sums": "z = f32[] constant(0)\nROOT r = f32[<=7,4] reduce-window(x, z), "
    "window={size=7x1 pad=6_0x0_0}, to_apply=add",
    "steps": "z = f32[] constant(-inf)\nROOT r = f32[<=4,4] reduce-window(x, z), "
    "window={size=3x1 stride=2x1 pad=1_1x0_0 rhs_dilate=1x1}, to_apply=max",
    "aside": "z = f32[] constant(0)\nROOT r = f32[<=7,2] reduce-window(x, z), "
    "window={size=1x3}, to_apply=add",
    "back": "low = f32[] constant(-inf)\ny = f32[<=6,4] reduce-window(x, low), "
    "window={size=2x1}, to_apply=max\nz = f32[] constant(0)\n"
    "ROOT r = f32[<=7,4] select-and-scatter(x, y, z), window={size=2x1}, select=ge, scatter=add",
    "filters": "t = f32[1,<=7,4] reshape(x)\n"
    "ROOT r = f32[1,4,4] convolution(t, t), window={size=1}, dim_labels=0fb_0io->0bf",
}


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_windows_show_what_counts(name, optimize):
    module = hlo.parse(entry("x = f32[<=7,4] parameter(0)\n" + BODIES[name], ADD))
    for size in (3, 6, 7):
        x = np.random.default_rng(size).standard_normal((size, 4)).astype(np.float32)
        check(module, ROUNDING, optimize=optimize, arguments=(x,))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("same", [False, True])
def test_a_convolution_and_its_gradients(same, stride):
    module = hlo.parse(convolved(stride, same=same))
    for size in (3, 4, 5, 7):
        places = -(-size // stride) if same else (size - 3) // stride + 1
        rng = np.random.default_rng(size)
        x, k, g = (
            rng.integers(-9, 9, dims).astype(np.float32)
            for dims in ((1, size, 2), (3, 2, 4), (1, places, 4))
        )
        arguments = (x, k, g, np.array(x.shape, np.int32))
        check(module, ROUNDING, optimize=True, arguments=arguments)


@pytest.mark.parametrize("size", [0, 1, 2, 5, 6, 7])
def test_a_pool_is_padded_for_the_actual_size(size):
    module = hlo.parse(POOLED)
    x = np.random.default_rng(size).permutation(size).astype(np.float32)
    check(module, ROUNDING, optimize=True, arguments=(x,))


@pytest.mark.parametrize("size", [0, 1, 4, 6, 7])
@pytest.mark.parametrize("dynamic", ["<=7,7", "7,<=7"])
def test_a_pool_is_padded_along_other_dimensions_too(dynamic, size):
    places = dynamic.replace("7", "4")
    text = POOLED.replace("<=7", dynamic).replace("<=4", places)
    window = "size=3 stride=2 pad=1_1"
    module = hlo.parse(text.replace(window, "size=3x3 stride=2x2 pad=1_1x1_1"))
    dims = (size, 7) if dynamic.startswith("<") else (7, size)
    x = np.random.default_rng(size).permutation(7 * size).astype(np.float32).reshape(dims)
    check(module, ROUNDING, optimize=True, arguments=(x,))


@pytest.mark.parametrize(
    "line",
    [
        (
            "t = f32[1,<=7,4] reshape(x)\nf = f32[2,4,1] constant({...})\nROOT r = f32[1,<=6,1] "
            "convolution(t, f), window={size=2}, dim_labels=b0f_0io->b0f"
        ),
        (
            "low = f32[] constant(0)\nROOT r = f32[<=13,4] reduce-window(x, low), "
            "window={size=1x1 lhs_dilate=2x1}, to_apply=add"
        ),
    ],
)
def test_plain_windows_that_depend_on_the_size_otherwise_are_refused(line):
    with pytest.raises(hlo.HloError, match="run-time size") as caught:
        emit_c.compile(hlo.parse(entry("x = f32[<=7,4] parameter(0)\n" + line, ADD)))
    assert caught.value.code == "HLO181"
