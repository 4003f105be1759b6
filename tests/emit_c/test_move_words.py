"""Kernels that only move complex numbers move words; C gives the same values."""

import numpy as np
import pytest
from emitted import emitted

import emit_c
import hlo
import interpreter

PROGRAMS = {
    "reversed": "ROOT r = c64[70,7] reverse(x), dimensions={1}",
    "transposed": "ROOT r = c64[7,70] transpose(x), dimensions={1,0}",
    "padded": """low = c64[] constant((-0, nan))
  ROOT r = c64[76,9] pad(x, low), padding=2_4x1_1""",
    "chosen": """zeros = f32[70,7] broadcast(zero), dimensions={}
  p = pred[70,7] compare(z, zeros), direction=GT
  ones = c64[70,7] broadcast(one), dimensions={}
  ROOT r = c64[70,7] select(p, x, ones)""",
    "joined": "ROOT r = c64[70,14] concatenate(x, x), dimensions={1}",
    "put in place": """at = s32[] constant(3)
  few = c64[2,7] slice(x), slice={[60:62], [0:7]}
  ROOT r = c64[70,7] dynamic-update-slice(x, few, at, at)""",
    "looked up": """f = s32[70,7] convert(z)
  rows = s32[490] reshape(f)
  ROOT r = c64[490,7] gather(x, rows), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1,7}""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_values(program):
    module = hlo.parse(f"""HloModule moves
ENTRY e {{
  x = c64[70,7] parameter(0)
  z = f32[70,7] parameter(1)
  zero = f32[] constant(0)
  one = c64[] constant((1, -2))
  {PROGRAMS[program]}
}}""")
    generator = np.random.default_rng(3)
    x = generator.normal(size=(70, 14)).astype(np.float32).view(np.complex64)
    x[0, :3] = [complex(np.nan, -0.0), complex(-0.0, np.inf), -0.0]
    z = generator.normal(size=(70, 7)).astype(np.float32) * 40
    made, want = emit_c.compile(module)(x, z), interpreter.evaluate(module, x, z)
    assert isinstance(made, np.ndarray)
    assert isinstance(want, np.ndarray)
    assert made.tobytes() == want.tobytes()
    assert ("move-words" in emitted(module).passes) == (program != "put in place")
