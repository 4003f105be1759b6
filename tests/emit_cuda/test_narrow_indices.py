"""Indices of 32 bits, in kernels that compute no numbers of 64, wherever these are."""

import numpy as np
import pytest
from cuda_batches import statements_in

import emit_cuda
import hlo
import interpreter
from codegen.statements import Let
from emit_cuda.host.device import HostDevice

FUSION = """HloModule m
f {{ x = s32[64] parameter(0)  w = {0}[64] convert(x)
  k = {0}[] constant(30019)  ks = {0}[64] broadcast(k), dimensions={{}}
  p = {0}[64] multiply(w, ks)  q = {0}[64] multiply(p, ks)
  c = f32[64] convert(q)  ROOT r = f32[64] negate(c) }}
ENTRY e {{ x = s32[64] parameter(0)  ROOT y = f32[64] fusion(x), kind=kLoop, calls=f }}"""


@pytest.mark.parametrize(("kind", "index"), [("s32", "s32"), ("s64", "s64"), ("f64", "s64")])
def test_numbers_inside_of_a_fusion_keep_their_bits(kind, index):
    module, x = hlo.parse(FUSION.format(kind)), np.arange(64, dtype=np.int32)
    executable = emit_cuda.compile(module, HostDevice(checked=True), optimize=False)
    assert executable(x).tobytes() == interpreter.evaluate(module, x).tobytes()
    statements = statements_in(executable.program.kernels.values())
    assert [s.kind for s in statements if isinstance(s, Let) and s.name == "thread"] == [index]
