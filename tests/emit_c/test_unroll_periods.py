"""Loops in lanes whose choices repeat are unrolled; C gives the same values."""

import numpy as np
import pytest

import emit_c
import hlo
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare


@pytest.mark.parametrize("size", [9, 40, 63])
@pytest.mark.parametrize("interior", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["f32", "u8", "f64", "bf16"])
def test_padding_between_elements(kind, interior, size):
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {kind}[3,{size}] parameter(0)
  y = {kind}[3,{size}] parameter(1)
  z = {kind}[] constant(0)
  a = {kind}[3,{size * (interior + 1) + 1}] pad(x, z), padding=0_0x0_{interior + 1}_{interior}
  b = {kind}[3,{size * (interior + 1) + 1}] pad(y, z), padding=0_0x1_{interior}_{interior}
  ROOT s = {kind}[3,{size * (interior + 1) + 1}] add(a, b)
}}""")
    made = np.random.default_rng(size)
    x, y = (made.integers(0, 9, (3, size)).astype(dtype_of(module)) for _ in range(2))
    assert compare(emit_c.compile(module)(x, y), evaluate(module, x, y), BITS) is None


def dtype_of(module):
    return module.entry.parameters[0].shape.element_type.dtype
