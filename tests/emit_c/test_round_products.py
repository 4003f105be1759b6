"""Products are rounded before they are added to, side by side with others as well."""

import pytest
from strategies.compiled import check

# The parts of products of complex numbers, in pairs.
ROTATION = """HloModule rotation
ENTRY e {
  x = T[4096,2] parameter(0)
  y = T[4096,2] parameter(1)
  a = T[4096,1] slice(x), slice={[0:4096], [0:1]}
  b = T[4096,1] slice(x), slice={[0:4096], [1:2]}
  c = T[4096,1] slice(y), slice={[0:4096], [0:1]}
  d = T[4096,1] slice(y), slice={[0:4096], [1:2]}
  ac = T[4096,1] multiply(a, c)
  bd = T[4096,1] multiply(b, d)
  ad = T[4096,1] multiply(a, d)
  bc = T[4096,1] multiply(b, c)
  REAL = T[4096,1] subtract(ac, bd)
  IMAGINARY = T[4096,1] add(SUM)
  ROOT r = T[4096,2] concatenate(real, imaginary), dimensions={1}
}
"""


@pytest.mark.parametrize("element_type", ["f32", "f64"])
@pytest.mark.parametrize(("real", "imaginary"), [("real", "imaginary"), ("imaginary", "real")])
@pytest.mark.parametrize("terms", ["ad, bc", "a, bc"])
def test_parts_of_complex_products_are_the_interpreters_to_the_bit(
    element_type, real, imaginary, terms
):
    words = {"T[": f"{element_type}[", "REAL": real, "IMAGINARY": imaginary, "SUM": terms}
    text = ROTATION
    for word, value in words.items():
        text = text.replace(word, value)
    check(text, optimize=True)


def test_complex_numbers_made_of_products_are_the_interpreters_to_the_bit():
    module = """HloModule parts
ENTRY e {
  x = c64[4096] parameter(0)
  a = f32[4096] real(x)
  b = f32[4096] imag(x)
  y = c64[4096] parameter(1)
  c = f32[4096] real(y)
  d = f32[4096] imag(y)
  ac = f32[4096] multiply(a, c)
  bd = f32[4096] multiply(b, d)
  real = f32[4096] add(ac, a)
  imaginary = f32[4096] subtract(bd, b)
  ROOT r = c64[4096] complex(real, imaginary)
}
"""
    check(module, optimize=True)
