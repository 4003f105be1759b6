"""Kernels keep subnormal numbers, as XLA's do on GPUs, or take them for zeros when asked."""

import platform

import numpy as np
import pytest
from strategies.compiled import entry

import emit_cuda
import hlo
from hlo.errors.error import HloError

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64", "aarch64", "arm64"),
    reason="it is known for x86 and ARM how to flush subnormal numbers",
)
# So many that several processor threads run them.
HALF = entry("""
x = f32[40000] parameter(0)
h = f32[] constant(0.5)
b = f32[40000] broadcast(h), dimensions={}
ROOT y = f32[40000] multiply(x, b)
""")
LEAST = np.full(40000, 2.0**-126, np.float32)


def halves(**options):
    return emit_cuda.compile(hlo.parse(HALF), "host", **options)(LEAST)


def test_they_are_kept_or_zeros_in_all_threads():
    """An option counts more than the environment; the caller computes as before."""
    assert not halves(subnormals="flush").any()
    assert (halves(subnormals="keep") == LEAST / 2).all()
    assert (LEAST / 2).all()


def test_the_environment_tells_what_is_usual(monkeypatch):
    """XLA keeps them on GPUs unless its own flag is set, whose last value counts."""
    monkeypatch.delenv("PYHLO_SUBNORMALS")
    assert halves().all()
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_ftz=false --xla_gpu_ftz")
    assert not halves().any()
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_ftz --xla_gpu_ftz=false")
    assert halves().all()
    monkeypatch.setenv("PYHLO_SUBNORMALS", "flush")
    assert not halves().any()
    with pytest.raises(HloError, match="subnormals='zero'"):
        halves(subnormals="zero")
