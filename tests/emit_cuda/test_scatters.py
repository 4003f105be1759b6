"""Scatters whose updates meet: in atomic operations, in one thread, or after they were sorted."""

import numpy as np
import pytest
from cuda_batches import names_in_cuda

import emit_cuda
import hlo
import interpreter
from codegen.program.steps import Launch
from emit_cuda import nvrtc
from emit_cuda.grids import scattering
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
    found, _ = values(module, range(1, 4))
    assert len(found) > 1
    assert "atomicAdd" in names_in_cuda(module)
    monkeypatch.setenv("XLA_FLAGS", "--other --xla_gpu_deterministic_ops=true")
    found, _ = values(module, range(1, 4))
    assert len(found) == 1
    assert not any("atomic" in name for name in names_in_cuda(module))


@pytest.mark.parametrize("many", [False, True])
def test_many_updates_without_an_atomic_operation_are_sorted(monkeypatch, many):
    monkeypatch.setattr(atomics, "MANY", 50 if many else 100)
    found, made = values(hlo.parse(TEXT.format("maximum")), [1, 2])
    kinds = [getattr(step, "kind", "copy") for step in made.steps]
    assert len(found) == 1
    assert ("sort" in kinds, "one thread" in kinds) == (many, not many)


FEW = """HloModule m
op {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT s = {0}[] {1}(a, b) }}
ENTRY e {{
  x = {0}[7,3] parameter(0)  i = s32[600,1] parameter(1)  u = {0}[600,3] parameter(2)
  ROOT r = {0}[7,3] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=op
}}"""


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        *((kind, "add") for kind in ("s32", "u32", "s64", "u64", "f32", "f64")),
        *(("s32", name) for name in ("maximum", "minimum", "and", "or", "xor")),
        *(("u64", name) for name in ("maximum", "minimum", "and", "or", "xor")),
    ],
)
def test_many_updates_of_few_elements_meet_in_shared_memory(monkeypatch, kind, operation):
    """Each block has a copy; not all indices are those of an element."""
    monkeypatch.setattr(scattering, "MULTIPROCESSORS", 2)
    monkeypatch.setattr(scattering, "WAVE", 3)
    monkeypatch.setattr(scattering, "LARGE_BLOCK", 64)
    module = hlo.parse(FEW.format(kind, operation))
    dtype = module.entry.root.shape.element_type.dtype
    given = (
        RANDOM.integers(0, 99, (7, 3)).astype(dtype),
        RANDOM.integers(-2, 9, (600, 1)).astype(np.int32),
        RANDOM.integers(0, 99, (600, 3)).astype(dtype),
    )
    made = emit_cuda.compile(module, HostDevice(checked=True, seed=1))
    assert "scatter in shared memory" in [getattr(s, "kind", "") for s in made.program.steps]
    np.testing.assert_array_equal(made(*given), interpreter.evaluate(module, *given))
    if not nvrtc.missing():
        assert nvrtc.compile(made.source, "sm_90").usage


WINDOWS = """HloModule m
op { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT s = bf16[] add(a, b) }
ENTRY e {
  x = bf16[3,40] parameter(0)
  i = s32[90,1] parameter(1)
  u = bf16[90,40] parameter(2)
  ROOT r = bf16[3,40] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=op
}"""


def test_threads_side_by_side_add_rows_in_the_order_of_the_updates(monkeypatch):
    monkeypatch.setattr(atomics, "MANY", 40)
    module = hlo.parse(WINDOWS)
    bf16 = module.entry.root.shape.element_type.dtype
    x, u = (
        RANDOM.standard_normal((3, 40)).astype(bf16),
        RANDOM.standard_normal((90, 40)).astype(bf16),
    )
    i = RANDOM.integers(-1, 4, (90, 1)).astype(np.int32)
    executable = emit_cuda.compile(module, HostDevice(checked=True))
    wanted = x.copy()
    for (row,), update in zip(i, u, strict=True):
        if 0 <= row < 3:
            wanted[row] += update
    # Sums of bfloat16 depend on their order: equal bits are the same order.
    assert executable(x, i, u).tobytes() == wanted.tobytes()
    (launch,) = (step for step in executable.program.steps if isinstance(step, Launch))
    assert launch.block[0] >= 40


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_many_updates_of_narrow_floats_meet_in_atomic_operations(monkeypatch, kind):
    monkeypatch.setattr(atomics, "MOST_IN_ORDER", 50)
    module = hlo.parse(WINDOWS.replace("bf16", kind))
    dtype = module.entry.root.shape.element_type.dtype
    # Sums of small whole numbers are the same in any order.
    x, u = (RANDOM.integers(-2, 3, (rows, 40)).astype(dtype) for rows in (3, 90))
    i = RANDOM.integers(-1, 4, (90, 1)).astype(np.int32)
    executable = emit_cuda.compile(module, HostDevice(checked=True, seed=1))
    wanted = interpreter.evaluate(module, x, i, u)
    assert executable(x, i, u).tobytes() == wanted.tobytes()
    source = executable.program.source
    assert f"atomic_add_{kind}" in names_in_cuda(module)
    if not nvrtc.missing():
        assert f"red.global.add.noftz.{kind}" in nvrtc.ptx(source, "sm_90")
        assert "atom.global.cas.b16" in nvrtc.ptx(source, "sm_80") or kind == "f16"


@pytest.mark.parametrize(
    ("width", "column", "update"),
    [
        pytest.param(8, 0, "u", id="in memory"),
        pytest.param(8, 0, "c", id="computed"),
        pytest.param(6, 0, "u", id="not by four"),
        pytest.param(8, 1, "u", id="from any column"),
    ],
)
def test_four_neighbours_are_added_by_one_instruction(width, column, update):
    """They are where they fill 16 bytes: rows of the updates begin at any row's first column."""
    module = hlo.parse(f"""HloModule m
op {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }}
ENTRY e {{
  x = f32[3,{width}] parameter(0)
  i = s32[90,{1 + column}] parameter(1)
  u = f32[90,4] parameter(2)
  c = f32[90,4] multiply(u, u)
  ROOT r = f32[3,{width}] scatter(x, i, {update}), update_window_dims={{1}},
    inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{{"0,1" if column else "0"}}},
    index_vector_dim=1, to_apply=op
}}""")
    # Sums of small whole numbers are the same in any order.
    x, u = (RANDOM.integers(-2, 3, s).astype(np.float32) for s in ((3, width), (90, 4)))
    i = RANDOM.integers(-1, 4, (90, 1 + column)).astype(np.int32)
    executable = emit_cuda.compile(module, HostDevice(checked=True, seed=1))
    assert executable(x, i, u).tobytes() == interpreter.evaluate(module, x, i, u).tobytes()
    source, by_four = executable.program.source, width == 8 and not column
    assert ("add_four" in names_in_cuda(module)) == by_four
    if by_four and not nvrtc.missing():
        made = ["add.v4.f32" in nvrtc.ptx(source, a) for a in ("sm_80", "sm_90")]
        assert made == [False, True]
