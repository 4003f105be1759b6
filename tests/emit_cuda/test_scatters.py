"""Scatters whose updates meet: in atomic operations, in one thread, or after they were sorted."""

import numpy as np
import pytest

import emit_cuda
import hlo
import interpreter
from emit_cuda.host.device import HostDevice
from optimizer.gpu import atomics

TEXT = """HloModule m
op {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] {}(a, b) }}
ENTRY e {{
  x = f32[20] parameter(0)
  i = s32[90,1] parameter(1)
  u = f32[90] parameter(2)
  ROOT r = f32[20] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=op
}}"""
RANDOM = np.random.default_rng(0)
ARGUMENTS = (
    RANDOM.standard_normal(20).astype(np.float32),
    RANDOM.integers(-3, 25, (90, 1)).astype(np.int32),
    RANDOM.standard_normal(90).astype(np.float32),
)


def values(module, seeds):
    """The bits that different orders of threads give."""
    made = emit_cuda.compile(module, HostDevice(checked=True)).program
    found = set()
    for seed in seeds:
        device = HostDevice(checked=True, seed=seed)
        value = emit_cuda.CudaExecutable(module.entry, made, device)(*ARGUMENTS)
        found.add(value.tobytes())
        np.testing.assert_allclose(value, interpreter.evaluate(module, *ARGUMENTS), rtol=1e-5)
    return found, made


def test_sums_of_floats_depend_on_the_order_of_threads_but_where_that_is_not_wanted(monkeypatch):
    module = hlo.parse(TEXT.format("add"))
    found, made = values(module, range(1, 4))
    assert len(found) > 1
    assert "atomicAdd" in made.source
    monkeypatch.setenv("XLA_FLAGS", "--other --xla_gpu_deterministic_ops=true")
    found, made = values(module, range(1, 4))
    assert len(found) == 1
    assert "atomic" not in made.source


@pytest.mark.parametrize("many", [False, True])
def test_many_updates_without_an_atomic_operation_are_sorted(monkeypatch, many):
    monkeypatch.setattr(atomics, "MANY", 50 if many else 100)
    found, made = values(hlo.parse(TEXT.format("maximum")), [1, 2])
    kinds = [getattr(step, "kind", "copy") for step in made.steps]
    assert len(found) == 1
    assert ("sort" in kinds, "one thread" in kinds) == (many, not many)
