"""Loops in lanes whose choices repeat are unrolled; C gives the same values."""

import pytest
from strategies.compiled import check, whole


@pytest.mark.parametrize("size", [9, 40, 63])
@pytest.mark.parametrize("interior", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["f32", "u8", "f64", "bf16"])
def test_padding_between_elements(kind, interior, size):
    text = f"""HloModule m
ENTRY e {{
  x = {kind}[3,{size}] parameter(0)
  y = {kind}[3,{size}] parameter(1)
  z = {kind}[] constant(0)
  a = {kind}[3,{size * (interior + 1) + 1}] pad(x, z), padding=0_0x0_{interior + 1}_{interior}
  b = {kind}[3,{size * (interior + 1) + 1}] pad(y, z), padding=0_0x1_{interior}_{interior}
  ROOT s = {kind}[3,{size * (interior + 1) + 1}] add(a, b)
}}"""
    check(text, optimize=True, arguments=whole(0, 9))
