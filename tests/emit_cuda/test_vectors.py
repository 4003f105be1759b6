"""Loads and stores of several neighbours at once, where the index map proves it."""

import random

import pytest
from cuda_batches import ARCHITECTURES, Batch, batch_of, trees_in, vectors_in
from hypothesis import given, settings
from hypothesis import strategies as st

import emit_cuda
import hlo
from codegen.expressions import Load, Name
from emit_cuda import nvrtc
from emit_cuda.host.device import HostDevice
from emit_cuda.loops import vectors
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.values import tame
from interpreter.numbers.compare import BITS
from optimizer import prepare

MOST = "most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }"
# A module's body, and the vectors that its kernel has.
KINDS = {
    "two operands": (
        "x = f32[64,32] parameter(0)  y = f32[64,32] parameter(1)  ROOT r = f32[64,32] add(x, y)",
        {"f32x4"},
    ),
    "with a tail": (
        "x = f32[1001] parameter(0)  ROOT r = f32[1001] negate(x)",
        {"f32x4"},
    ),
    "by the widest type": (
        "x = f32[512] parameter(0)  ROOT r = bf16[512] convert(x)",
        {"f32x4", "u32x2"},
    ),
    "narrow types": ("x = bf16[512] parameter(0)  ROOT r = bf16[512] negate(x)", {"u32x4"}),
    "bytes": ("x = s8[512] parameter(0)  ROOT r = s8[512] negate(x)", {"s8x8"}),
    "doubles": ("x = f64[512] parameter(0)  ROOT r = f64[512] negate(x)", {"f64x2"}),
    "complex numbers": ("x = c64[512] parameter(0)  ROOT r = c64[512] negate(x)", {"c64x2"}),
    "a row for all rows": (
        (
            "x = f32[16,32] parameter(0)  b = f32[32] parameter(1)"
            "  s = f32[16,32] broadcast(b), dimensions={1}  ROOT r = f32[16,32] add(x, s)"
        ),
        {"f32x4"},
    ),
    "a slice that begins at a row": (
        (
            "x = f32[64,32] parameter(0)  i = s32[] parameter(1)  z = s32[] constant(0)"
            "  s = f32[16,32] dynamic-slice(x, i, z), dynamic_slice_sizes={16,32}"
            "  ROOT r = f32[16,32] negate(s)"
        ),
        {"f32x4"},
    ),
    "a slice that begins between": (
        (
            "x = f32[600] parameter(0)  s = f32[512] slice(x), slice={[3:515]}"
            "  ROOT r = f32[512] negate(s)"
        ),
        {"f32x4"},
    ),
    "a concatenation, two of whose operands have a tail": (
        (
            "x = f32[401] parameter(0)  y = f32[64] parameter(1)  z = f32[402] parameter(2)"
            "  ROOT r = f32[867] concatenate(x, y, z), dimensions={0}"
        ),
        {"f32x4"},
    ),
    "a window for each feature": (
        (
            "x = bf16[2,5,6,16] parameter(0)  w = bf16[3,3,1,16] parameter(1)"
            "  ROOT r = bf16[2,5,6,16] convolution(x, w), window={size=3x3 pad=1_1x1_1},"
            " dim_labels=b01f_01io->b01f, feature_group_count=16"
        ),
        {"u32x4"},
    ),
    "the largest of windows": (
        (
            "x = f32[3,9,10,8] parameter(0)  low = f32[] constant(-inf)"
            "  ROOT r = f32[3,5,5,8] reduce-window(x, low), to_apply=most,"
            " window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x0_1x0_0}"
        ),
        {"f32x4"},
    ),
    "an index that is looked up and compared": (
        (
            "x = f32[16,32] parameter(0)  i = s32[16,32] parameter(1)  n = s32[] constant(31)"
            "  most = s32[16,32] broadcast(n), dimensions={}"
            "  inside = pred[16,32] compare(i, most), direction=LE"
            "  rows = s32[16,32,1] iota(), iota_dimension=0  along = s32[16,32,1] reshape(i)"
            "  at = s32[16,32,2] concatenate(rows, along), dimensions={2}"
            "  g = f32[16,32] gather(x, at), offset_dims={}, collapsed_slice_dims={0,1},"
            " start_index_map={0,1}, index_vector_dim=2, slice_sizes={1,1}"
            "  ROOT r = f32[16,32] select(inside, g, x)"
        ),
        {"f32x4", "s32x4"},
    ),
    "numbers of 16 bytes": ("x = c128[512] parameter(0)  ROOT r = c128[512] negate(x)", set()),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(vectors, "FILLS", 16)


def module_of(body):
    return hlo.parse(f"HloModule vectors\n{MOST}\nENTRY main {{ {body} }}")


def batch_of_kinds():
    return batch_of((module_of(body) for body, _ in KINDS.values()), optimize=True)


@pytest.mark.parametrize("name", KINDS)
def test_vectors_are_as_wide_as_the_widest_type_allows(name):
    body, wanted = KINDS[name]
    program = emit_cuda.emit(emit_cuda.optimized(module_of(body)))
    assert set(vectors_in(program.kernels.values())) == wanted


def test_what_may_lie_in_two_vectors_is_loaded_by_elements():
    module = emit_cuda.optimized(module_of(KINDS["a slice that begins between"][0]))
    kernels = emit_cuda.emit(module).kernels.values()
    loads = [each.pointer for each in trees_in(kernels) if isinstance(each, Load)]
    assert Name("x") in loads
    assert not vectors_in(kernels, "x")


def test_a_large_window_in_a_fusion_has_a_kernel_of_its_own():
    fold = "w = f32[512] reduce-window(x, low), window={size=512 pad=511_0}, to_apply=most"
    text = f"""HloModule m
{MOST}
f {{ x = f32[512] parameter(0)  low = f32[] constant(-inf)  {fold}  ROOT r = f32[512] negate(w) }}
ENTRY e {{ x = f32[512] parameter(0)  ROOT y = f32[512] fusion(x), kind=kLoop, calls=f }}"""
    kinds = [step.kind for step in emit_cuda.emit(prepare(hlo.parse(text))).steps]
    assert kinds[0] == "running fold"


def test_a_fused_value_that_is_used_at_two_indices_is_not_stored():
    module = module_of(KINDS["an index that is looked up and compared"][0])
    assert len(emit_cuda.emit(emit_cuda.optimized(module)).steps) == 1


@pytest.mark.parametrize("checked", [False, True])
def test_they_give_what_the_interpreter_gives(checked):
    found = batch_of_kinds().differences(BITS, checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


def test_a_vector_that_begins_between_two_is_found():
    batch = Batch(optimize=True)
    module = module_of(KINDS["with a tail"][0])
    batch.add(module, [tame(p.shape, random.Random(0)) for p in module.entry.parameters])
    ((_, arguments, _, program),) = batch.cases
    source = batch.kernels.source("").replace("((const f32x4 *)x)", "((const f32x4 *)(x + 1))")
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "(x + 1)" in text)
    device = HostDevice(checked=True)
    with pytest.raises(hlo.HloError, match="misaligned") as caught:
        emit_cuda.CudaExecutable(module.entry, program, device, device.load(source))(*arguments)
    assert f":{line}" in str(caught.value)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_are_vectors_for_a_gpu(architecture):
    source = batch_of_kinds().kernels.source("")
    assert len(nvrtc.compile(source, architecture).usage) >= len(KINDS)
    ptx = nvrtc.ptx(source, architecture)
    for each in ("ld.global.nc.v4", "st.global.v4", "ld.global.nc.v2"):
        assert each in ptx, each


@pytest.mark.slow
@settings(max_examples=max(4, settings.default.max_examples // 4))
@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=8), st.booleans())
def test_random_modules_in_vectors(seeds, checked):
    batch = Batch(optimize=True)
    for seed in seeds:
        module = random_module(random.Random(seed), size=6)
        batch.add(module, [tame(p.shape, random.Random(seed)) for p in module.entry.parameters])
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"
