"""Calls of cuDNN, as in modules that XLA has optimized for a GPU."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo
import interpreter
from hlo.types.element_type import ELEMENT_TYPES
from tests.gpu_libraries import expect_refused, run

LABELS = ("b01f_01io->b01f", "bf01_oi01->bf01", "f01b_i01o->01bf")


def call(target: str, shapes: list[str], result: str, rest: str, config: str = "{}") -> str:
    """A module of one call of cuDNN."""
    lines = [f"  p{i} = {s} parameter({i})" for i, s in enumerate(shapes)]
    names = ", ".join(f"p{i}" for i in range(len(shapes)))
    named = f'custom_call_target="__cudnn${target}", backend_config'
    return "\n".join(
        [
            "ENTRY e {",
            *lines,
            f"  ROOT c = ({result}, u8[0]{{0}}) custom-call({names}), {rest}, {named}={config}",
            "}",
        ]
    )


@st.composite
def forward_convolutions(draw: st.DrawFn) -> tuple[str, str, list[tuple[int, ...]]]:
    """Window, labels and groups as text, and the sizes of input, kernel and output."""
    labels, groups = draw(st.sampled_from(LABELS)), draw(st.integers(1, 2))
    batch, inputs, outputs = (draw(st.integers(1, 3)) for _ in range(3))
    sizes = {"b": batch, "f": inputs * groups, "i": inputs, "o": outputs * groups}
    window: list[tuple[object, ...]] = []
    spatial: list[int] = []
    kernel: list[int] = []
    made: list[int] = []
    for _ in range(2):
        size, stride, dilation = (draw(st.integers(1, 3)) for _ in range(3))
        extent = (size - 1) * dilation + 1
        low, high = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        n = draw(st.integers(max(1, extent - low - high), 7))
        window.append((size, stride, f"{low}_{high}", dilation))
        spatial.append(n)
        kernel.append(size)
        made.append((n + low + high - extent) // stride + 1)
    parts = labels.replace("->", "_").split("_")
    places = [
        {**sizes, "0": spatial[0], "1": spatial[1]},
        {**sizes, "0": kernel[0], "1": kernel[1]},
        {**sizes, "f": sizes["o"], "0": made[0], "1": made[1]},
    ]
    dims = [tuple(at[c] for c in part) for part, at in zip(parts, places, strict=True)]
    words = ("size", "stride", "pad", "rhs_dilate")
    text = " ".join(f"{word}={'x'.join(str(w[k]) for w in window)}" for k, word in enumerate(words))
    rest = f"window={{{text}}}, dim_labels={labels}, feature_group_count={groups}"
    return rest, labels, dims


def shape(dims: tuple[int, ...]) -> str:
    """An array of f64 as text: sums of small integers are exact."""
    return f"f64[{','.join(map(str, dims))}]"


@given(forward_convolutions(), st.integers(0, 2**32 - 1))
def test_gradients_are_adjoint_to_the_convolution(
    case: tuple[str, str, list[tuple[int, ...]]], seed: int
) -> None:
    """<conv(x, w), dy> = <x, dx> = <w, dw> for all x, w and dy."""
    rest, _, dims = case
    random = np.random.default_rng(seed)
    x, w, dy = (random.integers(-4, 5, d).astype(np.float64) for d in dims)
    names = [shape(d) for d in dims]
    y, _ = run(call("convForward", names[:2], names[2], rest), x, w)
    dx, _ = run(call("convBackwardInput", [names[2], names[1]], names[0], rest), dy, w)
    dw, _ = run(call("convBackwardFilter", [names[0], names[2]], names[1], rest), x, dy)
    plain = f"ENTRY e {{ p0 = {names[0]} parameter(0)\n p1 = {names[1]} parameter(1)\n"
    plain += f" ROOT c = {names[2]} convolution(p0, p1), {rest} }}"
    np.testing.assert_array_equal(y, interpreter.evaluate(hlo.parse(plain), x, w))
    assert np.sum(y * dy) == np.sum(x * dx) == np.sum(w * dw)


def activated(mode: str, x: np.ndarray) -> np.ndarray:
    """The function that an activation mode names, of numbers."""
    return {
        "kNone": x,
        "kRelu": np.maximum(x, 0),
        "kRelu6": np.clip(x, 0, 6),
        "kElu": np.where(x > 0, x, np.expm1(x)),
        "kLeakyRelu": np.where(x > 0, x, 0.25 * x),
    }[mode]


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        *((name, name) for name in ("kNone", "kRelu", "kRelu6", "kElu", "kLeakyRelu")),
        ("2", "kRelu"),  # as XLA wrote it before 2022
    ],
)
def test_a_fused_convolution_has_an_epilogue(mode: str, name: str) -> None:
    x = np.array([[[[1, -2, 3, 0, 5]], [[2, 1, -1, 4, 0]]]], np.float32)
    w = np.array([[[[1, -1]], [[0.5, 2]]], [[[-1, 0]], [[1, 1]]]], np.float32)
    bias, side = np.array([0.5, -1], np.float32), np.ones((1, 2, 1, 4), np.float32)
    options = {
        "activation_mode": mode,
        "conv_result_scale": 0.5,
        "side_input_scale": 3,
        "leakyrelu_alpha": 0.25,
    }
    config = json.dumps({"cudnn_conv_backend_config": options})
    shapes = ["f32[1,2,1,5]", "f32[2,2,1,2]", "f32[2]", "f32[1,2,1,4]"]
    rest = "window={size=1x2}, dim_labels=bf01_oi01->bf01"
    text = call("convBiasActivationForward", shapes, "f32[1,2,1,4]", rest, config)
    result, _ = run(text, x, w, bias, side)
    sums = np.stack([sum(np.correlate(x[0, i, 0], w[o, i, 0]) for i in (0, 1)) for o in (0, 1)])
    expected = activated(name, 0.5 * sums + 3 + bias[:, None])
    np.testing.assert_allclose(result[0, :, 0], expected, 1e-6)


def test_sums_of_wide_integers_stay_wide() -> None:
    rest = "window={size=1}, dim_labels=b0f_0io->b0f"
    text = call("convForward", ["s64[1,1,1]", "s64[1,1,1]"], "s64[1,1,1]", rest)
    x, w = np.full((1, 1, 1), 2**40), np.full((1, 1, 1), 3)
    assert run(text, x, w)[0].item() == 3 * 2**40


@pytest.mark.parametrize(("kind", "most"), [("s8", 127), ("s4", 7)])
def test_sums_of_integers_are_saturated(kind: str, most: int) -> None:
    rest = "window={size=1}, dim_labels=b0f_0io->b0f"
    text = call("convForward", [f"{kind}[1,2,1]", f"{kind}[1,1,1]"], f"{kind}[1,2,1]", rest)
    dtype = ELEMENT_TYPES[kind].dtype
    x, w = np.array([[[most - 1], [1 - most]]]).astype(dtype), np.full((1, 1, 1), 2).astype(dtype)
    assert run(text, x, w)[0].ravel().tolist() == [most, -most - 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (call("convForward", ["f32[1,4]", "f32[2,3]"], "f32[1,3]", "feature_group_count=1"),
         "needs window and dim_labels"),
        (call("convForward", ["f32[1,4]", "f32[2,3]"], "f32[1,3]", "dim_labels=bf_io->bf"),
         "4 input features, but the kernel has 2"),
        (call("convForward", ["f32[1,4,1]", "f32[2,1,3]"], "f32[1,4,3]",
              "window={size=2}, dim_labels=b0f_0io->b0f"), r"makes \[1, 3, 3\]"),
        (call("convForward", ["f32[1,4,1]", "f32[2,1,3]"], "f32[1,3,3]",
              "window={size=2}, dim_labels=b0f_0io->b0f",
              '{"cudnn_conv_backend_config":{"activation_mode":"kSinh"}}'), "kSinh"),
    ],
)  # fmt: skip
def test_a_convolution_that_does_not_fit_is_refused(text: str, message: str) -> None:
    expect_refused(text, message)
