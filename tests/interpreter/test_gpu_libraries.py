"""Calls of cuBLAS, cuDNN and CUB, as in modules that XLA has optimized for a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import emit_c
import hlo
import interpreter
from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import BITS, compare
from optimizer import Log, parse_pipeline

ROOT = Path(__file__).parents[2]
# Texts of XLA's compiler for an H200, of models whose own texts lie in tests/models.
DUMPS = sorted((ROOT / "benchmarks" / "xla_gpu").glob("*.hlo"))


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a value."""
    if not isinstance(value, tuple):
        return [value]
    return [array for part in cast("tuple[Any, ...]", value) for array in flat(part)]


def run(text: str, *arguments: np.ndarray, tolerance: float = 1e-6) -> list[np.ndarray]:
    """The results of a module; with dots and convolutions in place of calls it has the same.

    Parameters
    ----------
    tolerance : as a part of the largest number of each result.
    """
    module = hlo.parse(text)
    expanded = parse_pipeline("custom-call-expander").run(module, Log())
    targets = [i.attrs for i in expanded.instructions() if i.opcode == "custom-call"]
    assert not targets
    expected = flat(interpreter.evaluate(module, *arguments))
    expect_close(flat(interpreter.evaluate(expanded, *arguments)), expected, tolerance)
    return expected


def expect_close(results: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    """Fail if numbers differ by more than a part of the largest one."""
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        wide = wanted.astype(np.complex128)
        largest = np.max(np.abs(wide), initial=0)
        assert np.max(np.abs(result.astype(np.complex128) - wide), initial=0) <= tolerance * largest


@pytest.mark.parametrize("path", DUMPS, ids=lambda p: p.stem)
def test_what_xla_made_for_a_gpu_means_what_it_was_made_of(path: Path) -> None:
    saved = np.load(ROOT / "tests" / "models" / f"{path.stem}.npz")
    arguments = [saved[key] for key in saved.files if not key.startswith("out")]
    before = hlo.parse((ROOT / "tests" / "models" / f"{path.stem}.hlo").read_text())
    hlo.verify(hlo.parse(path.read_text()))
    expected = flat(interpreter.evaluate(before, *arguments))
    results = run(path.read_text(), *arguments, tolerance=1e-5)
    compiled = emit_c.compile(hlo.parse(path.read_text()))
    expect_close(flat(compiled(*arguments)), results, 1e-5)
    # Types of 16 bits are rounded elsewhere there.
    expect_close(results, expected, 2e-2 if path.stem == "mixed_precision" else 1e-5)


# ------------------------------------------------------------------ cuBLAS


def gemm(
    epilogue: str = "DEFAULT",
    *,
    alpha: float = 1,
    beta: float = 0,
    most: bool = False,
    wrapped: bool = True,
) -> str:
    """The backend configuration of a product of rows and columns."""
    numbers = {
        "lhs_contracting_dimensions": ["1"],
        "rhs_contracting_dimensions": ["0"],
        "lhs_batch_dimensions": [],
        "rhs_batch_dimensions": [],
    }
    found = {
        "alpha_real": alpha,
        "alpha_imag": 0,
        "beta": beta,
        "epilogue": epilogue,
        "damax_output": most,
        "dot_dimension_numbers": numbers,
    }
    return json.dumps({"gemm_backend_config": found} if wrapped else found)


def product(
    config: str,
    result: str = "f32[2,4]{1,0}",
    added: str = "",
    kind: str = "f32",
    target: str = "matmul",
) -> str:
    """A module of one call of cuBLASLt; `added` are the shapes of further operands."""
    more = [s for s in added.split(" ") if s]
    lines = [f"  p{i} = {s} parameter({i + 2})" for i, s in enumerate(more)]
    names = ", ".join(["x", "y", *(f"p{i}" for i in range(len(more)))])
    named = f'custom_call_target="__cublas$lt${target}", backend_config'
    return "\n".join(
        [
            "ENTRY e {",
            f"  x = {kind}[2,3] parameter(0)",
            f"  y = {kind}[3,4] parameter(1)",
            *lines,
            f"  ROOT c = ({result}, s8[64]{{0}}) custom-call({names}), {named}={config}",
            "}",
        ]
    )


X = np.array([[1, 2, -3], [0, -1, 2]], np.float32)
Y = np.array([[1, 0, 2, -1], [3, 1, -2, 0], [-1, 2, 0, 1]], np.float32)
BIAS = np.array([0.5, -20, 4, 1], np.float32)


@pytest.mark.parametrize("wrapped", [True, False])
def test_alpha_scales_the_product_and_beta_the_summand(wrapped: bool) -> None:
    config = gemm(alpha=0.5, beta=2, wrapped=wrapped)
    summand = np.ones((2, 4), np.float32)
    result, memory = run(product(config, added="f32[2,4]"), X, Y, summand)
    np.testing.assert_array_equal(result, 0.5 * (X @ Y) + 2)
    assert memory.shape == (64,)


def test_a_bias_lies_along_the_fastest_dimension() -> None:
    result, _ = run(product(gemm("BIAS_RELU"), added="f32[4]"), X, Y, BIAS)
    np.testing.assert_array_equal(result, np.maximum(X @ Y + BIAS, 0))
    rows = np.array([100, -100], np.float32)
    result, _ = run(product(gemm("BIAS"), "f32[2,4]{0,1}", "f32[2]"), X, Y, rows)
    np.testing.assert_array_equal(result, X @ Y + rows[:, None])


@pytest.mark.parametrize("function", ["GELU", "SILU"])
def test_functions_of_a_product(function: str) -> None:
    x = (X @ Y).astype(np.float64)
    cubic = x + 0.044715 * x**3
    expected = {
        "GELU": 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * cubic)),
        "SILU": x / (1 + np.exp(-x)),
    }
    result, _ = run(product(gemm(function)), X, Y)
    np.testing.assert_allclose(result, expected[function], 1e-5, 1e-6)


def test_sums_of_integers_become_floats_before_they_are_scaled() -> None:
    text = product(gemm(alpha=0.5), kind="s8")
    result, _ = run(text, X.astype(np.int8), Y.astype(np.int8))
    np.testing.assert_array_equal(result, 0.5 * (X @ Y))


def test_the_argument_of_a_function_may_be_a_result() -> None:
    text = product(gemm("BIAS_GELU_AUX"), "f32[2,4]{1,0}, f32[2,4]{1,0}", "f32[4]")
    _, aux, _ = run(text, X, Y, BIAS)
    np.testing.assert_array_equal(aux, X @ Y + BIAS)


def test_an_epilogue_is_computed_before_the_product_is_rounded() -> None:
    bf16 = ml_dtypes.bfloat16
    x, y = (X * 100).astype(bf16), (Y * 1.01).astype(bf16)
    bias = -(x.astype(np.float32) @ y.astype(np.float32))[0]
    text = product(gemm("BIAS"), "bf16[2,4]{1,0}", "bf16[4]", kind="bf16")
    result, _ = run(text, x, y, bias.astype(bf16))
    exact = x.astype(np.float32) @ y.astype(np.float32) + bias.astype(bf16).astype(np.float32)
    assert compare(result, exact.astype(bf16), BITS) is None


def test_a_bias_may_lack_the_columns_that_a_product_of_sixteen_bits_has_too_many() -> None:
    """XLA pads the matrices to eight columns, and cuts the additional ones off behind the call."""
    bf16 = ml_dtypes.bfloat16
    x, y, bias = X.astype(bf16), Y.astype(bf16), BIAS[:3].astype(bf16)
    text = product(gemm("BIAS"), "bf16[2,4]{1,0}", "bf16[3]", kind="bf16")
    result, _ = run(text, x, y, bias)
    exact = x.astype(np.float32) @ y.astype(np.float32)
    exact[:, :3] += bias.astype(np.float32)
    assert compare(result, exact.astype(bf16), BITS) is None


@pytest.mark.parametrize("kind", ["f32", "f8e4m3fn"])
def test_operands_of_eight_bits_have_scales(kind: str) -> None:
    f8, narrow = ml_dtypes.float8_e4m3fn, kind != "f32"
    x, y = X.astype(f8), Y.astype(f8)
    scales = [np.array(s, np.float32) for s in (0.5, 4, 100)]
    added = "f32[] f32[] f32[4]" + " f32[]" * narrow
    results = f"{kind}[2,4]{{1,0}}" + ", f32[]" * narrow
    config = gemm("BIAS_RELU", most=narrow)
    text = product(config, results, added, kind="f8e4m3fn", target="matmul$f8")
    result, *rest = run(text, x, y, *scales[:2], BIAS, *scales[2 : 2 + narrow])
    expected = np.maximum(2 * (X @ Y) + BIAS, 0)
    if narrow:
        assert rest[0] == expected.max()
        expected = np.minimum(expected * 100, 448).astype(f8)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (product(gemm(), "f32[2,5]{1,0}"), r"makes \[2, 4\] of its operands, not f32\[2,5\]"),
        (product(gemm("BIAS")), "takes 3 arrays, not 2"),
        (product(gemm("BIAS"), added="f32[3]"), r"can't add f32\[3\] along f32\[2,4\]"),
        (product(gemm(beta=1), added="f32[4,2]"), r"can't add f32\[4,2\]"),
        (product(gemm("GELU_AUX")), "as second result"),
        (product("{}"), r"makes \[2, 3, 3, 4\]"),
        (product('{"dot_dimension_numbers": 3}'), r"makes \[2, 3, 3, 4\]"),
        (product('{"beta": [1]}'), "does not fit: float"),
        (product(gemm(alpha=0.5), "s32[2,4]{1,0}", kind="s8"), "rounds to integers"),
        (product(gemm(), "c64[2,4]{1,0}"), "makes no c64 of f32 and f32"),
    ],
)
def test_a_product_that_does_not_fit_is_refused(text: str, message: str) -> None:
    module = hlo.parse(text)
    arguments = [
        np.zeros(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters
    ]
    with pytest.raises(HloError, match=f"HLO122.*{message}"):
        interpreter.evaluate(module, *arguments)
    with pytest.raises(HloError, match=f"HLO122.*{message}"):
        emit_c.compile(module)


# ------------------------------------------------------------------ cuDNN

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
    module = hlo.parse(text)
    arguments = [np.zeros(p.shape.dims, np.float32) for p in module.entry.parameters]
    with pytest.raises(HloError, match=f"HLO122.*{message}"):
        interpreter.evaluate(module, *arguments)


# ------------------------------------------------------------------ CUB


def radix_sort(shapes: list[str], *, descending: bool, rest: str = ", u8[1]{0}") -> str:
    """A module of one sort of CUB."""
    lines = [f"  p{i} = {s} parameter({i})" for i, s in enumerate(shapes)]
    names, results = ", ".join(f"p{i}" for i in range(len(shapes))), ", ".join(shapes)
    call = f"  ROOT c = ({results}{rest}) custom-call({names}), "
    call += 'custom_call_target="__cub$DeviceRadixSort", '
    config = json.dumps({"descending": descending})
    return "\n".join(["ENTRY e {", *lines, f"{call}backend_config={config}", "}"])


@pytest.mark.parametrize("descending", [False, True])
def test_keys_are_sorted_with_their_values(descending: bool) -> None:
    keys = np.array([[3, -1, 3, 0], [7, 7, -8, 1]], np.int32)
    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    text = radix_sort(["s32[2,4]", "f32[2,4]"], descending=descending)
    results = run(text, keys, values)[:2]
    order = np.argsort(-keys if descending else keys, axis=-1, kind="stable")
    np.testing.assert_array_equal(results[0], np.take_along_axis(keys, order, -1))
    np.testing.assert_array_equal(results[1], np.take_along_axis(values, order, -1))


def test_zeros_of_both_signs_keep_their_order() -> None:
    keys = np.array([1, 0.0, -0.0, np.nan, -np.inf, 0.0, -np.nan], np.float32)
    text = radix_sort(["f32[7]", "s32[7]"], descending=False)
    module = hlo.parse(text)
    expanded = parse_pipeline("custom-call-expander").run(module, Log())
    for each in (module, expanded):
        _, places, _ = interpreter.evaluate(each, keys, np.arange(7, dtype=np.int32))
        assert places.tolist() == [6, 4, 1, 2, 5, 0, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (radix_sort(["c64[4]"], descending=False), "no order for"),
        (radix_sort(["s32[4]", "s32[3]"], descending=False), r"can't sort s32\[3\] by s32\[4\]"),
        (radix_sort(["s32[4]"], descending=False, rest=""), "and memory"),
    ],
)
def test_a_sort_that_does_not_fit_is_refused(text: str, message: str) -> None:
    module = hlo.parse(text)
    arguments = [
        np.zeros(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters
    ]
    with pytest.raises(HloError, match=f"HLO122.*{message}"):
        interpreter.evaluate(module, *arguments)


# ------------------------------------------------------------------ triangular solves


def triangular_solve(options: dict[str, object], b: str = "f32[3,2]") -> str:
    """A module of one triangular solve of cuBLAS."""
    named = 'custom_call_target="__cublas$triangularSolve", backend_config'
    return f"""ENTRY e {{
      a = f32[3,3] parameter(0)
      b = {b} parameter(1)
      ROOT x = ({b}, s8[0]{{0}}) custom-call(a, b), {named}={json.dumps(options)}
    }}"""


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
def test_a_triangular_system_is_solved(lower: bool, transpose: str) -> None:
    a = np.array([[2, 1, -1], [3, 4, 5], [-2, 1, 8]], np.float32)
    b = np.array([[1, 2], [-3, 4], [8, 0]], np.float32)
    options = {
        "left_side": True, "lower": lower, "unit_diagonal": False, "transpose_a": transpose,
    }  # fmt: skip
    x, _ = run(triangular_solve(options), a, b)
    triangle = np.tril(a) if lower else np.triu(a)
    np.testing.assert_allclose((triangle.T if transpose == "TRANSPOSE" else triangle) @ x, b, 1e-5)


def test_a_triangular_solve_that_does_not_fit_is_refused() -> None:
    module = hlo.parse(triangular_solve({"left_side": True}, "f32[2,3]"))
    with pytest.raises(HloError, match=r"HLO122.*does not fit"):
        interpreter.evaluate(module, np.eye(3, dtype=np.float32), np.zeros((2, 3), np.float32))
