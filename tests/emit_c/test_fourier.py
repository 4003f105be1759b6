"""Fourier transforms of all lengths, in every way in which they are written."""

import numpy as np
import pytest

import emit_c
import hlo
from codegen.opcodes.fourier_lengths import good_length, middle_factor, radices

# Of the root of the mean square of what is transformed; the reference has twice the digits or more.
PRECISE = {"f32": 2e-6, "f64": 4e-15}
COMPLEX = {"f32": "c64", "f64": "c128"}
FUNCTIONS = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
# Lines and their length: in lanes, with lanes that have no line, as a matrix, as a convolution.
LINES = {
    "one number": (3, 1),
    "two numbers": (5, 2),
    "every radix": (16, 2 * 3 * 4 * 5),
    "large radices": (7, 7 * 11 * 13),
    "odd": (33, 3 * 27),
    "short and single": (1, 30),
    "a matrix": (1, 1024),
    "a matrix of odd sides": (2, 35 * 27),
    "a prime number": (40, 97),
    "twice a prime number": (9, 2 * 101),
    "a long convolution": (1, 1009),
    "a matrix of prime sides": (2, 17 * 23),
}


def check(kind, real, dims, length):
    """Compare with NumPy, which computes in f64."""
    generator = np.random.default_rng(7)
    half = (*dims[:-1], dims[-1] // 2 + 1)
    given = half if kind == "IRFFT" else dims
    made = half if kind == "RFFT" else dims
    x = generator.standard_normal(given)
    if kind != "RFFT":
        x = x + 1j * generator.standard_normal(given)
    types = [COMPLEX[real], COMPLEX[real]]
    if kind in ("RFFT", "IRFFT"):
        types[kind == "IRFFT"] = real
    source, target = (
        f"{t}[{','.join(map(str, d))}]" for t, d in zip(types, (given, made), strict=True)
    )
    sizes = ",".join(map(str, dims[-length:]))
    module = hlo.parse(
        f"HloModule m\nENTRY e {{ x = {source} parameter(0)\n"
        f"ROOT r = {target} fft(x), fft_type={kind}, fft_length={{{sizes}}} }}"
    )
    x = x.astype(module.entry.parameters[0].shape.element_type.dtype)
    ours = emit_c.compile(module)(x)
    wide = x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
    theirs = FUNCTIONS[kind](wide, s=dims[-length:], axes=range(-length, 0))
    scale = np.sqrt((np.abs(theirs) ** 2).mean())
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=PRECISE[real] * scale)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("name", LINES)
def test_lines(kind, name):
    check(kind, "f32", LINES[name], 1)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("name", ["every radix", "a matrix", "twice a prime number"])
def test_lines_of_f64(kind, name):
    check(kind, "f64", LINES[name], 1)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("dims", [(3, 20, 18), (17, 11, 2), (2, 97, 8)])
def test_several_dimensions(kind, dims):
    check(kind, "f32", dims, 2)


def test_infinities_stay_in_their_line():
    module = hlo.parse("""HloModule m
ENTRY e { x = c64[20,12] parameter(0)
ROOT r = c64[20,12] fft(x), fft_type=FFT, fft_length={12} }""")
    x = np.ones((20, 12), np.complex64)
    x[4, 3] = np.inf
    assert np.isfinite(emit_c.compile(module)(x)).all(axis=1).tolist() == [
        i != 4 for i in range(20)
    ]


def test_lengths():
    assert radices(4 * 4 * 2 * 3 * 13) == [4, 4, 2, 3, 13]
    assert radices(17) is None
    assert radices(1) == []
    assert [good_length(n) for n in (1, 7, 13, 2017)] == [1, 8, 15, 2025]
    assert [middle_factor(n) for n in (1, 12, 1024, 13)] == [1, 3, 32, 1]
