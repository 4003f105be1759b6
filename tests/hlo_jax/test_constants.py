"""Large constants come in from the message: their values are those that jaxlib would print."""

from typing import Any

import numpy as np
import pytest

import hlo
from hlo_jax.abi.proto import varints
from hlo_jax.private import programs as private
from hlo_jax.programs.constants import module_of

NUMBERS = np.arange(-60, 60)
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int4",
    "uint4", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
    "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_type(jax: Any, jnp: Any, dtype: str) -> None:
    with jax.enable_x64(True):
        constant = NUMBERS.astype(jnp.dtype(dtype)).reshape(5, 24)
        lowered = jax.jit(lambda: constant).lower()
        proto = private.hlo_of_mlir(str(lowered.compiler_ir()).encode())
    assert "{...}" in private.text_of_hlo(proto, constants=False)
    module = module_of(proto)
    assert str(module) == str(hlo.parse(private.text_of_hlo(proto)))
    np.testing.assert_array_equal(module.entry.root.attrs.literal.array, constant)


def test_a_layout_other_than_row_by_row() -> None:
    numbers = ", ".join(f"{{ {', '.join(map(str, row))} }}" for row in NUMBERS.reshape(5, 24))
    text = f"ENTRY e {{\n  ROOT c = s32[5,24]{{0,1}} constant({{ {numbers} }})\n}}\n"
    module = module_of(private.hlo_of_text(f"HloModule m\n\n{text}"))
    np.testing.assert_array_equal(module.entry.root.attrs.literal.array, NUMBERS.reshape(5, 24))


def test_a_function_that_closes_over_constants(jax: Any, jnp: Any, engine: str) -> None:
    weights = (np.arange(40_000) % 7 - 3).astype(np.float32).reshape(200, 200)
    masks, steps = weights > 0, np.arange(40_000).reshape(200, 200)[::-1]
    found = jax.jit(lambda x: (x @ weights + masks) * steps)(jnp.ones(200))
    np.testing.assert_array_equal(found, (weights.sum(0) + masks) * steps)
    assert engine


@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        (b"", []),
        (b"\x00\x7f\x80\x01", [0, 127, 128]),
        (b"\xff" * 9 + b"\x01\x05", [2**64 - 1, 5]),
    ],
)
def test_varints(content: bytes, numbers: list[int]) -> None:
    assert varints(content).tolist() == numbers


def test_a_varint_that_does_not_end() -> None:
    with pytest.raises(ValueError, match="does not end"):
        varints(b"\x01\x80")
