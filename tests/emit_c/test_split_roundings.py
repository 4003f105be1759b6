"""Numbers are rounded to f16 by loops of their own, with the results of the interpreter."""

import numpy as np
import pytest
from strategies.compiled import check

import emit_c
import hlo

COMPUTATIONS = """HloModule m
ENTRY e {{
  x = f16[{rows},{n}] parameter(0)
  y = f32[{rows},{n}] parameter(1)
  z = f16[{n}] parameter(2)
  zs = f16[{rows},{n}] broadcast(z), dimensions={{1}}
  product = f16[{rows},{n}] multiply(x, zs)
  sum = f16[{rows},{n}] add(product, x)
  root = f16[{rows},{n}] sqrt(sum)
  rounded = f16[{rows},{n}] convert(y)
  turned = f16[{n},{rows}] transpose(product), dimensions={{1,0}}
  positive = f16[{rows},{n}] maximum(rounded, product)
  wide = f32[{rows},{n}] convert(product)
  ROOT t = (f16[{rows},{n}], f16[{rows},{n}], f16[{n},{rows}], f16[{rows},{n}], f32[{rows},{n}])
    tuple(root, rounded, turned, positive, wide)
}}"""


def arguments(rows, n):
    """Numbers of f16 and of f32 of all sizes: also beyond those of f16, and halfway between two."""
    generator = np.random.default_rng(n)
    x = generator.integers(0, 1 << 16, (rows, n)).astype(np.uint16).view(np.float16)
    y = generator.standard_normal((rows, n)).astype(np.float32)
    y *= np.float32(2) ** generator.integers(-30, 20, (rows, n))
    halfway = generator.integers(0, 1 << 15, n).astype(np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        y[0] = halfway.astype(np.float32) * np.float32(1 + 2**-11)
    y[1, :4] = np.nan, -np.inf, -0.0, 65520
    return x, y, x[::-1].reshape(-1)[:n]


@pytest.mark.parametrize("n", [47, 48, 50, 64, 256, 257, 300, 513])
def test_all_numbers(n):
    text = COMPUTATIONS.format(rows=7, n=n)
    executable = check(text, optimize=True, arguments=arguments(7, n))
    assert ("store_each_f16" in executable.source) == (n >= 48)


def test_results_in_the_place_of_operands():
    module = hlo.parse(
        """HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
        ENTRY e {
          x = f16[1000] parameter(0)
          y = f16[1000] multiply(x, x)
          ROOT z = f16[1000] add(y, x)
        }"""
    )
    x = np.linspace(-300, 300, 1000).astype(np.float16)
    executable = emit_c.compile(module)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(executable(x.copy()), x * x + x)
    assert "narrow_each_f16" in executable.source
