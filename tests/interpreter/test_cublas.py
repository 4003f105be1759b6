"""Calls of cuBLAS, as in modules that XLA has optimized for a GPU."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

import emit_c
import hlo
from hlo.errors.error import HloError
from interpreter.numbers.compare import BITS, compare
from tests.gpu_libraries import expect_refused, run


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
    """XLA pads the matrices to eight columns, and cuts the additional ones off after the call."""
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
    expect_refused(text, message)
    with pytest.raises(HloError, match=f"HLO122.*{message}"):
        emit_c.compile(hlo.parse(text))


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
    expect_refused(triangular_solve({"left_side": True}, "f32[2,3]"), "does not fit")
