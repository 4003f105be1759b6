"""Custom calls without a kernel: the processor computes them between two segments of launches."""

import numpy as np
import pytest

import emit_cuda
import hlo
import interpreter
from codegen.program.steps import HostCall
from codegen.program.streams import Segment, parts
from emit_cuda.launches import explained

TEXT = """HloModule m
body { s = (s32[], f32[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)  j = s32[] add(i, one)
  x = f32[3,3] get-tuple-element(s), index=1
  c = (f32[3,3], s32[3], s32[]) custom-call(x), custom_call_target="lapack_sgetrf_ffi"
  lu = f32[3,3] get-tuple-element(c), index=0
  y = f32[3,3] add(lu, x)
  ROOT t = (s32[], f32[3,3]) tuple(j, y) }
cond { s = (s32[], f32[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(12)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e {
  x = f32[3,3] parameter(0)
  z = s32[] constant(0)
  d = f32[3,3] multiply(x, x)
  s = (s32[], f32[3,3]) tuple(z, d)
  w = (s32[], f32[3,3]) while(s), condition=cond, body=body
  l = f32[3,3] get-tuple-element(w), index=1
  q = (f32[3,3], s32[3], s32[]) custom-call(l), custom_call_target="lapack_sgetrf_ffi"
  ROOT r = (f32[3,3], (f32[3,3], s32[3], s32[])) tuple(d, q)
}"""


@pytest.mark.parametrize("checked", [False, True])
def test_factorizations_are_computed_by_the_processor(checked):
    module = hlo.parse(TEXT)
    executable = emit_cuda.compile(module, "host", checked=checked)
    x = np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32)
    made, (factors, pivots, info) = executable(x)
    expected, (factors_of_it, pivots_of_it, _) = interpreter.evaluate(module, x)
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_allclose(factors, factors_of_it, rtol=1e-5)
    np.testing.assert_array_equal(pivots, pivots_of_it)
    assert info == 0


def test_no_graph_is_recorded_around_them_and_their_copies_are_told():
    program = emit_cuda.emit(emit_cuda.optimized(hlo.parse(TEXT)))
    *_, call = parts(program.steps)
    assert isinstance(call, HostCall)
    assert any(isinstance(part, Segment) for part in parts(program.steps))
    assert "lapack_sgetrf_ffi on the processor: at least" in explained(program)


def test_a_function_that_nobody_knows_is_refused():
    text = TEXT.replace("lapack_sgetrf_ffi", "my_own")
    with pytest.raises(hlo.HloError) as caught:
        emit_cuda.compile(hlo.parse(text), "host")
    assert caught.value.code == "HLO181"
