"""Short rows are folded and computed in lanes of many rows; C gives what the interpreter gives."""

import numpy as np
import pytest
from strategies.compiled import check

import emit_c
import hlo
import interpreter
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import BITS, ROUNDING, compare

COMPUTATIONS = """HloModule m
sum { x = T[] parameter(0)  y = T[] parameter(1)  ROOT r = T[] add(x, y) }
most { x.1 = T[] parameter(0)  y.1 = T[] parameter(1)  ROOT r.1 = T[] maximum(x.1, y.1) }
ENTRY e {
  p = T[ROWS,N] parameter(0)
  q = T[N] parameter(1)
  zero = T[] constant(0)
  b = T[ROWS,N] broadcast(q), dimensions={1}
  product = T[ROWS,N] multiply(p, b)
  mirrored = T[ROWS,N] reverse(product), dimensions={1}
  total = T[ROWS] reduce(product, zero), dimensions={1}, to_apply=sum
  largest = T[ROWS] reduce(p, zero), dimensions={1}, to_apply=most
  ROOT t = (T[ROWS,N], T[ROWS], T[ROWS]) tuple(mirrored, total, largest)
}"""


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 11, 16, 17])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "u8", "s32"])
@pytest.mark.parametrize("rows", [20, 100])
def test_short_rows(kind, size, rows):
    module = COMPUTATIONS.replace("T[", f"{kind}[").replace("ROWS", str(rows))
    module = hlo.parse(module.replace("N]", f"{size}]"))
    generator = np.random.default_rng(size)
    dtype = ELEMENT_TYPES[kind].dtype
    x = generator.integers(0, 50, (rows, size)).astype(dtype)
    y = generator.integers(1, 4, size).astype(dtype)
    if ELEMENT_TYPES[kind].is_floating:
        x[3, 0], x[4, -1], x[5] = np.nan, np.inf, -0.0
    with np.errstate(all="ignore"):
        wanted = interpreter.evaluate(module, x, y)
    ours = emit_c.compile(module)(x, y)
    promises = (BITS, ROUNDING, BITS)
    for mine, meant, promise in zip(ours, wanted, promises, strict=True):
        assert compare(mine, meant, promise) is None


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_first_columns_are_copied_row_by_row(size):
    module = f"""HloModule columns
ENTRY e {{
  x = f32[200,128] parameter(0)
  ROOT y = f32[200,{size}] slice(x), slice={{[0:200], [0:{size}]}}
}}"""
    x = np.random.default_rng(0).standard_normal((200, 128)).astype(np.float32)
    executable = check(module, arguments=(x,))
    assert f"for (s64 i1 = 0; i1 < {size}; i1++)" in executable.source


def test_short_rows_side_by_side_are_copied_in_lanes_of_rows():
    module = hlo.parse("""HloModule mirrored
ENTRY e {
  x = u8[100,3] parameter(0)
  ROOT y = u8[100,3] reverse(x), dimensions={1}
}""")
    x = np.random.default_rng(0).integers(0, 99, (100, 3)).astype(np.uint8)
    executable = emit_c.compile(module, optimize=False)
    assert np.array_equal(executable(x), x[:, ::-1])
    assert "y[i0 * 3 + 2] = x[i0 * 3];" in executable.source
