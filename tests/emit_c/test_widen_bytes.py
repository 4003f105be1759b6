"""Short loops of long functions load bytes ahead; C gives the interpreter's values."""

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from emit_c import emit
from optimizer import optimize


def masked(columns: int, function: str, kind: str = "pred") -> hlo.Module:
    """A function of the elements that a mask chooses, in rows of so many columns."""
    return hlo.parse(f"""HloModule masked
ENTRY e {{
  x = f32[3,{columns}] parameter(0)
  bytes = {kind}[{columns},3] parameter(1)
  turned = {kind}[3,{columns}] transpose(bytes), dimensions={{1,0}}
  zero = {kind}[] constant({"false" if kind == "pred" else 0})
  zeros = {kind}[3,{columns}] broadcast(zero), dimensions={{}}
  mask = pred[3,{columns}] compare(turned, zeros), direction=NE
  y = f32[3,{columns}] {function}(x)
  ROOT chosen = f32[3,{columns}] select(mask, y, x)
}}""")


def written(module: hlo.Module) -> str:
    """The C of a module that was optimized."""
    return emit(optimize(module, target="cpu")).source


def test_the_loads_stand_before_the_loop():
    assert """
    s32 wide[41];
    #pragma omp simd
    for (s64 i1 = 0; i1 < 41; i1++) {
      wide[i1] = bytes[i1 * 3 + i0];
    }
    #pragma omp simd
    for (s64 i1 = 0; i1 < 41; i1++) {
      const s32 bytes_1 = wide[i1];
""" in written(masked(41, "exponential"))


@pytest.mark.parametrize(
    ("columns", "function"),
    [(64, "exponential"), (41, "negate"), (5000, "exponential")],
    ids=["whole vectors", "a short function", "a long loop"],
)
def test_others_stay_as_they_are(columns, function):
    assert "wide" not in written(masked(columns, function))


@pytest.mark.parametrize("kind", ["pred", "s8", "u8", "s16", "u16"])
@pytest.mark.parametrize("columns", [17, 41, 95])
def test_values(kind, columns):
    module = masked(columns, "tanh", kind)
    generator = np.random.default_rng(columns)
    x = generator.standard_normal((3, columns)).astype(np.float32)
    dtype = {"pred": np.bool_, "s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16}
    numbers = generator.integers(0, 2, (columns, 3)) * generator.integers(0, 100, (columns, 3))
    narrow = numbers.astype(dtype[kind])
    made = emit_c.compile(module)(x, narrow)
    want = interpreter.evaluate(module, x, narrow)
    assert isinstance(made, np.ndarray)
    assert isinstance(want, np.ndarray)
    np.testing.assert_array_max_ulp(made, want, 4)
