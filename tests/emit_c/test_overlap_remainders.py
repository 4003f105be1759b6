"""The last elements of a row, computed by a whole vector that ends with it."""

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from interpreter.numbers.compare import BITS, compare


@pytest.mark.parametrize("kind", ["f32", "f64", "s32"])
@pytest.mark.parametrize("size", [17, 23, 31, 43])
def test_sums_of_neighbours(kind, size):
    module = hlo.parse(
        f"""HloModule m
        ENTRY e {{
          x = {kind}[9,{size + 2}] parameter(0)
          a = {kind}[9,{size}] slice(x), slice={{[0:9],[0:{size}]}}
          b = {kind}[9,{size}] slice(x), slice={{[0:9],[2:{size + 2}]}}
          ROOT s = {kind}[9,{size}] add(a, b)
        }}"""
    )
    dtype = module.entry.root.shape.element_type.dtype
    x = np.random.default_rng(size).integers(-99, 99, (9, size + 2)).astype(dtype)
    assert compare(emit_c.compile(module)(x), interpreter.evaluate(module, x), BITS) is None
