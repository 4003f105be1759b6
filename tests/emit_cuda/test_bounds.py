"""The processor is given no more work than takes some minutes, and says so."""

import numpy as np
import pytest

import emit_cuda
import hlo
from emit_cuda.host.bounds import MOST_OPERATIONS
from optimizer.analysis.runs import operations

PRODUCT = """HloModule m
ENTRY e {{
  x = f32[{n},{n}] parameter(0)
  d = f32[{n},{n}] dot(x, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT s = f32[{n},{n}] add(d, x)
}}"""
LOOP = """HloModule m
body { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)  j = s32[] add(i, one)
  x = f32[8] get-tuple-element(s), index=1  y = f32[8] add(x, x)
  ROOT t = (s32[], f32[8]) tuple(j, y) }
cond { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(1000)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e {
  s = (s32[], f32[8]) parameter(0)
  ROOT w = (s32[], f32[8]) while(s), condition=cond, body=body,
    backend_config={"known_trip_count":{"n":"1000"}}
}"""


def test_a_module_above_the_bound_is_refused_with_a_way_out():
    with pytest.raises(hlo.HloError) as caught:
        emit_cuda.compile(hlo.parse(PRODUCT.format(n=4096)), "host")
    assert caught.value.code == "HLO196"
    text = str(caught.value)
    total = 2 * 4096**3 + 2 * 4096**2
    assert f"{total:,} operations" in text
    assert f"{MOST_OPERATIONS:,} at most" in text
    assert f"PYHLO_CUDA_HOST_OPERATIONS={total}" in text


def test_its_small_variant_agrees_and_checked_mode_has_a_lower_bound(monkeypatch):
    x = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    module = hlo.parse(PRODUCT.format(n=32))
    np.testing.assert_allclose(emit_cuda.compile(module, "host")(x), x @ x + x, rtol=1e-4)
    with pytest.raises(hlo.HloError, match="checked kernels on the processor"):
        emit_cuda.compile(hlo.parse(PRODUCT.format(n=1024)), "host", checked=True)
    monkeypatch.setenv("PYHLO_CUDA_HOST_OPERATIONS", "1000")
    with pytest.raises(hlo.HloError, match="1,000 at most"):
        emit_cuda.compile(module, "host")


def test_turns_of_loops_count():
    spent = operations(hlo.parse(LOOP))
    assert spent[next(i for i in spent if i.name == "y")] == 1000 * (8 + 8)
