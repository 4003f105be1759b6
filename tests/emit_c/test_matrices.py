"""Factorizations, normalization and Fourier transforms: C gives what the interpreter gives."""

import numpy as np
import pytest
from strategies.compiled import check, entry

from interpreter.numbers.compare import ROUNDING

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


@pytest.mark.parametrize(("kind", "real"), [("c64", "f32"), ("c128", "f64"), ("c128", "f32")])
def test_real_parts_of_complex_products(kind, real):
    """What XLA's CPU gives where a dot of complex numbers is declared to be real."""
    roles = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = entry(f"x = {kind}[3,3] parameter(0)\nROOT d = {real}[3,3] dot(x, x), {roles}")
    x = np.arange(9).reshape(3, 3) + 1j * np.arange(9, 0, -1).reshape(3, 3)
    x = x.astype({"c64": np.complex64, "c128": np.complex128}[kind])
    np.testing.assert_array_equal(check(text, arguments=[x])(x), (x @ x).real)
