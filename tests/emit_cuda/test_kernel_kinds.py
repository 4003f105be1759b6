"""Kernels whose threads work together: equal to the interpreter, and no mistake in checked mode."""

import random
from math import prod

import pytest
from cuda_batches import ARCHITECTURES, CHECKED_AND_NOT, Batch, batch_of, callees_in, vectors_in

import emit_cuda
import hlo
from codegen.statements import Call, nested
from emit_cuda import nvrtc
from emit_cuda.grids import gemm, thread_tiles, tile_sizes
from emit_cuda.grids.tile_sizes import SIDE, TileSize
from emit_cuda.host.device import HostDevice
from emit_cuda.loops import vectors
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.values import tame
from optimizer import prepare

CALLED = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] maximum(a, b) }
any { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT s = pred[] or(a, b) }
sum { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT s = s32[] add(a, b) }
falling {
  a = bf16[] parameter(0)  b = bf16[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
  ROOT more = pred[] compare(a, b), direction=GT
}
first {
  a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  larger = pred[] compare(a, b), direction=GT
  is_nan = pred[] compare(a, a), direction=NE
  more = pred[] or(larger, is_nan)
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tied = pred[] and(same, before)
  left = pred[] or(more, tied)
  x = f32[] select(left, a, b)
  k = s32[] select(left, i, j)
  ROOT r = (f32[], s32[]) tuple(x, k)
}
weighted {
  x = f32[5,200,3] parameter(0)
  w = f32[5,200] parameter(1)
  o = f32[] parameter(2)
  s = f32[5,200] sine(w)
  b = f32[5,200,3] broadcast(s), dimensions={0,1}
  q = f32[5,200,3] multiply(x, b)
  ROOT r = f32[5,3] reduce(q, o), dimensions={1}, to_apply=add
}
scaled {
  x = s8[40,70] parameter(0)
  s = f32[70] parameter(1)
  w = f32[70,33] parameter(2)
  f = f32[40,70] convert(x)
  b = f32[40,70] broadcast(s), dimensions={1}
  q = f32[40,70] multiply(f, b)
  ROOT d = f32[40,33] dot(q, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
dense {
  x = f32[150,70] parameter(0)
  w = f32[70,133] parameter(1)
  b = f32[133] parameter(2)
  d = f32[150,133] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = f32[150,133] broadcast(b), dimensions={1}
  ROOT a = f32[150,133] add(d, bias)
}
narrow {
  x = bf16[100,70] parameter(0)
  w = bf16[70,133] parameter(1)
  b = f32[133] parameter(2)
  d = f32[100,133] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = f32[100,133] broadcast(b), dimensions={1}
  ROOT a = f32[100,133] add(d, bias)
}
rectified {
  x = f32[2,9,8,5] parameter(0)
  w = f32[3,2,5,10] parameter(1)
  c = f32[2,9,7,10] convolution(x, w), window={size=3x2 pad=1_1x0_0}, dim_labels=b01f_01io->b01f
  zero = f32[] constant(0)
  zeros = f32[2,9,7,10] broadcast(zero), dimensions={}
  ROOT r = f32[2,9,7,10] maximum(c, zeros)
}
"""
# The body of a module, and how many threads its kernel has in a block, along x and y.
KINDS = {
    "long rows": (
        (
            "x = f32[3,2000] parameter(0)  o = f32[] constant(1.5)"
            "  ROOT r = f32[3] reduce(x, o), dimensions={1}, to_apply=add"
        ),
        128,
    ),
    "rows of two warps": (
        (
            "x = f32[3,1000] parameter(0)  o = f32[] constant(0)"
            "  ROOT r = f32[3] reduce(x, o), dimensions={1}, to_apply=add"
        ),
        64,
    ),
    "one row": (
        (
            "x = f32[5,1000] parameter(0)  o = f32[] constant(-inf)"
            "  ROOT r = f32[] reduce(x, o), dimensions={0,1}, to_apply=max"
        ),
        512,
    ),
    "short rows": (
        (
            "x = f32[2,7,11] parameter(0)  o = f32[] constant(0)"
            "  ROOT r = f32[2,7] reduce(x, o), dimensions={2}, to_apply=max"
        ),
        128,
    ),
    "rows of several dimensions": (
        (
            "x = s32[4,5,40] parameter(0)  o = s32[] constant(3)"
            "  ROOT r = s32[5] reduce(x, o), dimensions={0,2}, to_apply=sum"
        ),
        128,
    ),
    "columns": (
        (
            "x = f32[2,100,45] parameter(0)  o = f32[] constant(1)"
            "  ROOT r = f32[2,45] reduce(x, o), dimensions={1}, to_apply=add"
        ),
        1024,
    ),
    "few columns": (
        (
            "x = f32[5,200,3] parameter(0)  o = f32[] constant(1)"
            "  ROOT r = f32[5,3] reduce(x, o), dimensions={1}, to_apply=add"
        ),
        128,
    ),
    "few columns with a weight": (
        (
            "x = f32[5,200,3] parameter(0)  w = f32[5,200] parameter(1)  o = f32[] constant(0)"
            "  ROOT r = f32[5,3] fusion(x, w, o), kind=kInput, calls=weighted"
        ),
        128,
    ),
    "product with a prologue": (
        (
            "x = s8[40,70] parameter(0)  s = f32[70] parameter(1)  w = f32[70,33] parameter(2)"
            "  ROOT r = f32[40,33] fusion(x, s, w), kind=kCustom, calls=scaled"
        ),
        256,
    ),
    "truth values": (
        (
            "x = f32[300] parameter(0)  n = pred[300] compare(x, x), direction=LT"
            "  o = pred[] constant(false)"
            "  ROOT r = pred[] reduce(n, o), dimensions={0}, to_apply=any"
        ),
        128,
    ),
    "the first largest": (
        (
            "x = f32[3,200] parameter(0)  i = s32[3,200] iota(), iota_dimension=1"
            "  o = f32[] constant(-inf)  z = s32[] constant(0)"
            "  ROOT r = (f32[3], s32[3]) reduce(x, i, o, z), dimensions={1}, to_apply=first"
        ),
        128,
    ),
    "sort of pairs": (
        (
            "x = bf16[3,50] parameter(0)  i = s32[3,50] iota(), iota_dimension=1"
            "  ROOT r = (bf16[3,50], s32[3,50]) sort(x, i), dimensions={1}, is_stable=true,"
            " to_apply=falling"
        ),
        32,
    ),
    "scatter": (
        (
            "x = f32[9,20] parameter(0)  i = s32[40,1] parameter(1)  u = f32[40,20] parameter(2)"
            "  ROOT r = f32[9,20] scatter(x, i, u), update_window_dims={1},"
            " inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,"
            " to_apply=add"
        ),
        128,
    ),
    "transpose by a layout": (
        "x = bf16[3,45,37] parameter(0)  ROOT t = bf16[37,3,45]{0,2,1} bitcast(x)",
        256,
    ),
    "transpose": (
        (
            "x = bf16[3,40,5,33] parameter(0)"
            "  ROOT r = bf16[33,3,5,40] transpose(x), dimensions={3,0,2,1}"
        ),
        256,
    ),
    "product of matrices": (
        (
            "x = f32[130,20] parameter(0)  y = f32[140,20] parameter(1)"
            "  ROOT r = f32[130,140] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}"
        ),
        256,
    ),
    "product in batches": (
        (
            "x = bf16[3,17,20] parameter(0)  y = bf16[3,17,9] parameter(1)"
            "  ROOT r = bf16[3,20,9] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},"
            " lhs_contracting_dims={1}, rhs_contracting_dims={1}"
        ),
        256,
    ),
    "product of complex numbers": (
        (
            "x = c64[20,9] parameter(0)  y = c64[9,12] parameter(1)"
            "  ROOT r = c64[20,12] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        ),
        256,
    ),
    "product with an epilogue": (
        (
            "x = f32[150,70] parameter(0)  w = f32[70,133] parameter(1)  b = f32[133] parameter(2)"
            "  ROOT r = f32[150,133] fusion(x, w, b), kind=kCustom, calls=dense"
        ),
        256,
    ),
    "product of bf16 with an epilogue": (
        (
            "x = bf16[100,70] parameter(0)  w = bf16[70,133] parameter(1)"
            "  b = f32[133] parameter(2)"
            "  ROOT r = f32[100,133] fusion(x, w, b), kind=kCustom, calls=narrow"
        ),
        128,
    ),
    "product of f16 in batches": (
        (
            "x = f16[2,40,32] parameter(0)  y = f16[2,50,32] parameter(1)"
            "  ROOT r = f16[2,40,50] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},"
            " lhs_contracting_dims={2}, rhs_contracting_dims={2}"
        ),
        128,
    ),
    "product of s8": (
        (
            "x = s8[70,50] parameter(0)  y = s8[50,90] parameter(1)"
            "  ROOT r = s32[70,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        ),
        128,
    ),
    "convolution with an epilogue": (
        (
            "x = f32[2,9,8,5] parameter(0)  w = f32[3,2,5,10] parameter(1)"
            "  ROOT r = f32[2,9,7,10] fusion(x, w), kind=kCustom, calls=rectified"
        ),
        256,
    ),
    "convolution with all that a window has": (
        (
            "x = f32[2,6,7,8] parameter(0)  w = f32[16,3,3,2] parameter(1)"
            "  ROOT r = f32[2,16,10,8] convolution(x, w), dim_labels=bf01_oi01->bf01,"
            " feature_group_count=2,"
            " window={size=3x2 stride=2x1 pad=4_4x-1_3 lhs_dilate=2x1 rhs_dilate=1x2"
            " rhs_reversal=1x0}"
        ),
        256,
    ),
    "convolution on tensor cores": (
        (
            "x = bf16[2,10,10,16] parameter(0)  w = bf16[3,3,16,48] parameter(1)"
            "  ROOT r = bf16[2,8,8,48] convolution(x, w), window={size=3x3},"
            " dim_labels=b01f_01io->b01f"
        ),
        128,
    ),
    "gradient of a convolution's kernel": (
        (
            "x = bf16[6,20,4] parameter(0)  w = bf16[5,4,24] parameter(1)"
            "  ROOT r = bf16[16,3,24] convolution(x, w), window={size=5},"
            " dim_labels=b0f_0io->0bf, batch_group_count=2"
        ),
        128,
    ),
}


def module_of(body):
    return hlo.parse(f"HloModule kinds\n{CALLED}\nENTRY main {{ {body} }}")


@pytest.mark.parametrize("name", KINDS)
def test_threads_work_together(name):
    body, threads = KINDS[name]
    kernels = emit_cuda.emit(prepare(module_of(body))).kernels.values()
    assert threads in [prod(each.stage.block) for each in kernels]
    meet = {"__shfl_down_sync", "add_four"}.intersection(callees_in(kernels))
    assert meet or any(each.stage.shared for each in kernels)


@pytest.mark.parametrize("checked", [False, True])
def test_they_give_what_the_interpreter_gives(checked):
    found = batch_of(module_of(body) for body, _ in KINDS.values()).differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu(architecture):
    source = batch_of(module_of(body) for body, _ in KINDS.values()).kernels.source("")
    assert len(nvrtc.compile(source, architecture).usage) >= len(KINDS)


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 100), marks=pytest.mark.slow)], ids=["few", "many"]
)
@CHECKED_AND_NOT
def test_random_products_in_tiles(monkeypatch, seeds, checked):
    """Products of all dimension numbers and types, which would be too small for tiles."""
    monkeypatch.setattr(gemm, "LEAST", 1)
    monkeypatch.setattr(gemm, "FEWEST", 0)
    batch = Batch()
    for seed in seeds:
        opcode = ("convolution", "dot")[seed % 2]
        module = random_module(random.Random(seed), size=3, favoured=[opcode])
        batch.add(module, [tame(p.shape, random.Random(seed)) for p in module.entry.parameters])
    assert any(each.stage.shared for each in batch.kernels.written.values())
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
def test_tensor_cores_multiply_narrow_floats():
    for name in ("product of bf16 with an epilogue", "product of f16 in batches", "product of s8"):
        program = emit_cuda.emit(module_of(KINDS[name][0]))
        assert [step.kind for step in program.steps] == ["product on tensor cores"]
        assert "mma.sync.aligned.m16n8k" in nvrtc.ptx(program.source)


@pytest.mark.parametrize(("buffers", "barriers"), [(2, 1), (1, 2)])
def test_tiles_in_two_buffers_need_one_barrier(monkeypatch, buffers, barriers):
    monkeypatch.setattr(thread_tiles, "BUFFERS", buffers)
    monkeypatch.setattr(tile_sizes, "SIZES", (TileSize(SIDE, SIDE, 1, depth=16),))
    (kernel,) = batch_of([module_of(KINDS["product of matrices"][0])]).kernels.written.values()
    calls = [s.function.name for s in nested(kernel.statements) if isinstance(s, Call)]
    assert calls.count("__syncthreads") == barriers


def test_what_is_done_to_operands_is_done_as_they_are_read():
    program = emit_cuda.emit(prepare(module_of(KINDS["product with a prologue"][0])))
    assert [step.kind for step in program.steps] == ["product"]
    assert program.arena_bytes == 0


@pytest.mark.parametrize("missing", ["    __syncthreads();\n", "    wait_but_for_0_copies();\n"])
def test_tensor_cores_that_do_not_wait_for_copies_are_found(missing):
    """Lanes load rows that other threads copy, and that are there when these have waited."""
    batch = batch_of([module_of(KINDS["product of f16 in batches"][0])])
    ((module, arguments, _, program),) = batch.cases
    source = batch.kernels.source("")
    assert missing in source
    broken = source.replace(missing, "", 1)
    line = next(n for n, text in enumerate(broken.splitlines(), 1) if "ldmatrix" in text)
    device = HostDevice(checked=True)
    with pytest.raises(hlo.HloError) as caught:
        emit_cuda.CudaExecutable(module.entry, program, device, device.load(broken))(*arguments)
    assert f":{line}" in "\n".join(caught.value.notes)


CONCATENATION = """
    x = f32[3,130] parameter(0)  y = f32[3,1] parameter(1)  z = f32[3,0] parameter(2)
    w = f32[3,40] parameter(3)
    ROOT r = f32[3,301] concatenate(x, y, z, w, x), dimensions={1}"""
ALIGNED = """
    x = f32[4,64] parameter(0)  y = f32[8,64] parameter(1)
    ROOT r = f32[24,64] concatenate(x, y, x, y), dimensions={0}"""


@pytest.mark.parametrize("checked", [False, True])
def test_blocks_are_dealt_out_to_the_operands_of_a_concatenation(monkeypatch, checked):
    batch = batch_of([module_of(CONCATENATION)])
    monkeypatch.setattr(vectors, "FILLS", 256)
    body = ALIGNED
    module = module_of(body)
    batch.add(module, [tame(p.shape, random.Random(1)) for p in module.entry.parameters])
    assert not batch.differences(checked=checked)
    first, second = (program.steps for *_, program in batch.cases)
    # 390, 3, 120 and 390 elements; then 64, 128, 64 and 128 vectors of 4.
    assert [(step.kind, step.grid) for step in first] == [("concatenation", (4 + 1 + 1 + 4, 1, 1))]
    assert [(step.kind, step.grid) for step in second] == [("concatenation", (4, 1, 1))]
    assert "f32x4" in vectors_in(batch.kernels.written.values())
