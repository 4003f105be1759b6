"""Numbers of f16 outside of full vectors are converted by an instruction, with equal results."""

import numpy as np

import emit_c
import hlo
import interpreter


def test_every_number_is_rounded_as_in_lanes():
    """Products of all f16, rows of three by rows of seven, and sums scattered one by one."""
    codes = np.random.default_rng(16).permutation(np.arange(1 << 16, dtype=np.uint16))[: 7 * 9000]
    x = codes.view(np.float16).reshape(9000, 7)
    y = np.float16([1, -0.5, 3e-5]) * np.ones((9000, 1), np.float16)
    at = np.random.default_rng(17).integers(-1, 1001, 9000, np.int32)
    module = hlo.parse("""HloModule m
sum { a = f16[] parameter(0)  b = f16[] parameter(1)  ROOT c = f16[] add(a, b) }
ENTRY e {
  x = f16[9000,7] parameter(0)
  y = f16[9000,3] parameter(1)
  at = s32[9000,1] parameter(2)
  a = f16[9000,3,7] broadcast(y), dimensions={0,1}
  b = f16[9000,3,7] broadcast(x), dimensions={0,2}
  products = f16[9000,3,7] multiply(a, b)
  zero = f16[] constant(-0)
  zeros = f16[1000,7] broadcast(zero), dimensions={}
  sums = f16[1000,7] scatter(zeros, at, x), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  ROOT t = (f16[9000,3,7], f16[1000,7]) tuple(products, sums)
}""")
    given = x, y, at.reshape(9000, 1)
    executable = emit_c.compile(module)
    assert "store_one_f16" in executable.source
    for mine, meant in zip(executable(*given), interpreter.evaluate(module, *given), strict=True):
        np.testing.assert_array_equal(mine, meant)
        np.testing.assert_array_equal(np.signbit(mine[mine == 0]), np.signbit(meant[meant == 0]))
