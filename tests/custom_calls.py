"""Custom calls, written as text and evaluated, on random matrices of LAPACK's four types."""

from typing import Any

import numpy as np
import pytest

import interpreter
from hlo.read.parse import parse

# The types of LAPACK, by its letters: HLO's name and NumPy's.
TYPES = {"s": ("f32", "float32"), "d": ("f64", "float64"), "c": ("c64", "complex64")}
TYPES["z"] = ("c128", "complex128")
# How far a factorization may be from its definition, for numbers of about 1.
TOLERANCE = {"s": 1e-4, "c": 1e-4, "d": 1e-12, "z": 1e-12}


def call(target: str, shape: str, *operands: Any, backend: str = "", **kwargs: str) -> Any:
    """What a custom call gives for operands; `shape` spells the result's."""
    names = {np.dtype(dtype): hlo for hlo, dtype in TYPES.values()}
    names |= {np.dtype(np.int32): "s32", np.dtype(np.int64): "s64", np.dtype(np.uint32): "u32"}
    lines = [
        f"  p{i} = {names[x.dtype]}[{','.join(map(str, x.shape))}] parameter({i})"
        for i, x in enumerate(operands)
    ]
    arguments = ", ".join(f"p{i}" for i in range(len(operands)))
    attrs = "".join(f", {key}={value}" for key, value in kwargs.items())
    attrs += f", backend_config={backend}" if backend else ""
    lines.append(
        f'  ROOT r = {shape} custom-call({arguments}), custom_call_target="{target}"{attrs}'
    )
    return interpreter.evaluate(
        parse("HloModule m\nENTRY main {\n" + "\n".join(lines) + "\n}"), *operands
    )


def matrix(letter: str, *dims: int, seed: int = 0) -> Any:
    """Random numbers of a type."""
    generator = np.random.default_rng(seed)
    real, imaginary = generator.standard_normal((2, *dims))
    dtype = np.dtype(TYPES[letter][1])
    return (real + 1j * imaginary if dtype.kind == "c" else real).astype(dtype)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of each matrix."""
    return x.conj().swapaxes(-1, -2)


def close(letter: str, got: Any, wanted: Any) -> None:
    """Whether a factorization is its definition, but for rounding."""
    np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE[letter])


letters = pytest.mark.parametrize("letter", "sdcz")


def permuted(x: Any, pivots: Any) -> Any:
    """The rows of a matrix, after each changed places with that of its pivot, from 1."""
    rows = list(range(len(x)))
    for i, pivot in enumerate(pivots):
        rows[i], rows[pivot - 1] = rows[pivot - 1], rows[i]
    return x[rows]
