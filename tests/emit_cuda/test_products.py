"""Products in tiles of every size: equal to the interpreter, no mistake in checked mode."""

import pytest
from cuda_batches import (
    ARCHITECTURES,
    CHECKED_AND_NOT,
    batch_of,
    callees_in,
    statements_in,
    vectors_in,
)

import emit_cuda
import hlo
from codegen.loops import narrow_indices
from codegen.statements import Let
from emit_cuda import nvrtc
from emit_cuda.grids import narrow_tiles, tile_sizes
from emit_cuda.grids.thread_tiles import MANY, OWN_BYTES
from emit_cuda.grids.tile_sizes import SIDE, SIZES, WARP_SIZES
from emit_cuda.launches import estimates
from optimizer import prepare
from optimizer.analysis import byte_products

CALLED = """
dense {
  x = f32[130,72] parameter(0)  w = f32[72,136] parameter(1)  b = f32[136] parameter(2)
  d = f32[130,136] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = f32[130,136] broadcast(b), dimensions={1}
  s = f32[130,136] add(d, bias)
  zero = f32[] constant(0)
  zeros = f32[130,136] broadcast(zero), dimensions={}
  ROOT r = f32[130,136] maximum(s, zeros)
}
scaled {
  x = s8[40,72] parameter(0)  s = f32[72] parameter(1)  w = f32[72,132] parameter(2)
  f = f32[40,72] convert(x)
  b = f32[40,72] broadcast(s), dimensions={1}
  q = f32[40,72] multiply(f, b)
  ROOT d = f32[40,132] dot(q, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
narrow {
  x = bf16[40,72] parameter(0)  w = f32[72,132] parameter(1)
  f = f32[40,72] convert(x)
  d = f32[40,132] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = bf16[40,132] convert(d)
}
few {
  x = bf16[150,136] parameter(0)  w = f32[136,5] parameter(1)
  f = f32[150,136] convert(x)
  d = f32[150,5] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = bf16[150,5] convert(d)
}
gated {
  x = bf16[40,72] parameter(0)  w = bf16[72,132] parameter(1)  b = f32[132] parameter(2)
  n = bf16[40,72] negate(x)
  d = f32[40,132] dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = f32[40,132] broadcast(b), dimensions={1}
  ROOT r = f32[40,132] add(d, bias)
}
"""
# Products: ragged and whole tiles, all orders of dimensions, batches, prologues and epilogues.
PRODUCTS = {
    "epilogue": "x = f32[130,72] parameter(0)  w = f32[72,136] parameter(1)"
    "  b = f32[136] parameter(2)  ROOT r = f32[130,136] fusion(x, w, b), kind=kCustom, calls=dense",
    "prologue": "x = s8[40,72] parameter(0)  s = f32[72] parameter(1)  w = f32[72,132] parameter(2)"
    "  ROOT r = f32[40,132] fusion(x, s, w), kind=kCustom, calls=scaled",
    "prologue and epilogue of bf16": "x = bf16[40,72] parameter(0)  w = f32[72,132] parameter(1)"
    "  ROOT r = bf16[40,132] fusion(x, w), kind=kCustom, calls=narrow",
    "no neighbours": "x = f32[131,17] parameter(0)  y = f32[17,141] parameter(1)"
    "  ROOT r = f32[131,141] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "transposed": "x = f32[24,132] parameter(0)  y = f32[260,24] parameter(1)"
    "  ROOT r = f32[132,260] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
    "transposed, no neighbours": "x = f32[18,131] parameter(0)  y = f32[9,18] parameter(1)"
    "  ROOT r = f32[131,9] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
    "batches": "x = f32[3,20,32] parameter(0)  y = f32[32,3,36] parameter(1)"
    "  ROOT r = f32[3,20,36] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1},"
    " lhs_contracting_dims={2}, rhs_contracting_dims={0}",
    "several contracted": "x = f32[4,20,8] parameter(0)  y = f32[8,4,3,12] parameter(1)"
    "  ROOT r = f32[20,3,12] dot(x, y), lhs_contracting_dims={0,2}, rhs_contracting_dims={1,0}",
    "whole tiles": "x = f32[128,32] parameter(0)  y = f32[32,256] parameter(1)"
    "  ROOT r = f32[128,256] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f64": "x = f64[66,20] parameter(0)  y = f64[20,70] parameter(1)"
    "  ROOT r = f64[66,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "s32": "x = s32[68,20] parameter(0)  y = s32[72,20] parameter(1)"
    "  ROOT r = s32[68,72] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "s64": "x = s64[20,68] parameter(0)  y = s64[72,20] parameter(1)"
    "  ROOT r = s64[68,72] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
    "c64": "x = c64[20,36] parameter(0)  y = c64[36,33] parameter(1)"
    "  ROOT r = c64[20,33] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "convolution": "x = f32[2,9,8,8] parameter(0)  w = f32[3,2,8,12] parameter(1)"
    "  ROOT r = f32[2,9,7,12] convolution(x, w), window={size=3x2 pad=1_1x0_0},"
    " dim_labels=b01f_01io->b01f",
    "features first": "x = f32[2,6,7,8] parameter(0)  w = f32[16,3,3,2] parameter(1)"
    "  ROOT r = f32[2,16,10,8] convolution(x, w), dim_labels=bf01_oi01->bf01,"
    " feature_group_count=2, window={size=3x2 stride=2x1 pad=4_4x-1_3 lhs_dilate=2x1"
    " rhs_dilate=1x2 rhs_reversal=1x0}",
}
# The same on tensor cores: bytes are copied past the registers, or wait there.
ON_TENSOR_CORES = {
    "copied": "x = bf16[130,72] parameter(0)  y = bf16[72,136] parameter(1)"
    "  ROOT r = bf16[130,136] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "whole tiles of f16": "x = f16[128,96] parameter(0)  y = f16[96,128] parameter(1)"
    "  ROOT r = f32[128,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "transposed": "x = bf16[24,136] parameter(0)  y = bf16[264,24] parameter(1)"
    "  ROOT r = f32[136,264] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
    "no neighbours": "x = bf16[131,17] parameter(0)  y = bf16[17,141] parameter(1)"
    "  ROOT r = f32[131,141] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "one side aligned": "x = f16[40,72] parameter(0)  y = f16[72,37] parameter(1)"
    "  ROOT r = f16[40,37] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "four neighbours": "x = f16[36,44] parameter(0)  y = f16[44,52] parameter(1)"
    "  ROOT r = f16[36,52] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "batches": "x = bf16[3,40,32] parameter(0)  y = bf16[32,3,48] parameter(1)"
    "  ROOT r = bf16[3,40,48] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1},"
    " lhs_contracting_dims={2}, rhs_contracting_dims={0}",
    "bytes": "x = s8[70,160] parameter(0)  y = s8[90,160] parameter(1)"
    "  ROOT r = s32[70,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "bytes to be turned": "x = s8[70,50] parameter(0)  y = s8[50,96] parameter(1)"
    "  ROOT r = s32[70,96] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "prologue and epilogue": "x = bf16[40,72] parameter(0)  w = bf16[72,132] parameter(1)"
    "  b = f32[132] parameter(2)  ROOT r = f32[40,132] fusion(x, w, b), kind=kCustom, calls=gated",
    "few rows": "x = bf16[3,72] parameter(0)  y = bf16[72,136] parameter(1)"
    "  ROOT r = bf16[3,136] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "few columns": "x = f16[136,72] parameter(0)  y = f16[12,72] parameter(1)"
    "  ROOT r = f16[136,12] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "convolution": "x = bf16[2,10,10,16] parameter(0)  w = bf16[3,3,16,48] parameter(1)"
    "  ROOT r = bf16[2,8,8,48] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f",
}
# The same with few columns or rows, beside a large operand that is read along the contraction.
NARROW = {
    "few columns": "x = f32[140,268] parameter(0)  y = f32[268,10] parameter(1)"
    "  ROOT r = f32[140,10] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "fewer than of a tile": "x = f32[130,128] parameter(0)  y = f32[3,128] parameter(1)"
    "  ROOT r = f32[130,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "few rows": "x = f32[12,132] parameter(0)  y = f32[256,132] parameter(1)"
    "  ROOT r = f32[12,256] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "batches": "x = s32[140,2,128] parameter(0)  y = s32[128,2,16] parameter(1)"
    "  ROOT r = s32[2,140,16] dot(x, y), lhs_batch_dims={1}, rhs_batch_dims={1},"
    " lhs_contracting_dims={2}, rhs_contracting_dims={0}",
    "f64": "x = f64[64,66] parameter(0)  y = f64[66,16] parameter(1)"
    "  ROOT r = f64[64,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "prologue and epilogue": "x = bf16[150,136] parameter(0)  w = f32[136,5] parameter(1)"
    "  ROOT r = bf16[150,5] fusion(x, w), kind=kCustom, calls=few",
    "convolution": "x = f32[2,10,9,128] parameter(0)  w = f32[2,1,128,6] parameter(1)"
    "  ROOT r = f32[2,11,9,6] convolution(x, w), window={size=2x1 pad=1_1x0_0},"
    " dim_labels=b01f_01io->b01f",
}
# Types of 8 bytes, of which a thread has fewer sums.
WIDE = ("f64", "s64", "c64")
LARGE = """HloModule m
ENTRY e {{
  x = {0}[{1},{2}] parameter(0)  y = {0}[{2},{3}] parameter(1)
  ROOT r = {0}[{1},{3}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""


def batch_of_bodies(bodies, **options):
    texts = (f"HloModule products\n{CALLED}\nENTRY main {{ {body} }}" for body in bodies)
    return batch_of(map(hlo.parse, texts), **options)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.rows}x{size.columns}")
@CHECKED_AND_NOT
def test_tiles_of_every_size_give_what_the_interpreter_gives(monkeypatch, size, checked):
    monkeypatch.setattr(tile_sizes, "SIZES", (size,))
    batch = batch_of_bodies(PRODUCTS.values())
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.parametrize("size", WARP_SIZES, ids=lambda size: f"{size.rows}x{size.columns}")
@CHECKED_AND_NOT
def test_tensor_cores_give_what_the_interpreter_gives(monkeypatch, size, checked):
    monkeypatch.setattr(tile_sizes, "WARP_SIZES", (size,))
    batch = batch_of_bodies(ON_TENSOR_CORES.values(), most_shared=nvrtc.most_shared("sm_90"))
    assert all(s.kind.endswith("on tensor cores") for *_, p in batch.cases for s in p.steps)
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


def test_index_arithmetic_of_large_arrays_has_64_bits(monkeypatch):
    monkeypatch.setattr(narrow_indices, "MOST", 1)
    batch = batch_of_bodies([PRODUCTS["epilogue"], PRODUCTS["batches"], ON_TENSOR_CORES["copied"]])
    statements = statements_in(batch.kernels.written.values())
    rows = {s.kind for s in statements if isinstance(s, Let) and s.name.startswith("row")}
    assert rows == {"s64"}
    assert not batch.differences(checked=True)


@pytest.mark.parametrize("parts", [pytest.param(2, marks=pytest.mark.slow), 3, 16])
@CHECKED_AND_NOT
def test_parts_of_sums_are_added_up_in_a_second_launch(monkeypatch, parts, checked):
    monkeypatch.setattr(tile_sizes, "SPLITS", (parts,))
    monkeypatch.setattr(tile_sizes, "LEAST_DEPTH", 1)
    batch = batch_of_bodies([*PRODUCTS.values(), *ON_TENSOR_CORES.values()])
    kinds = [[step.kind for step in program.steps] for *_, program in batch.cases]
    assert ["product", "sums of a product"] in kinds
    assert ["product on tensor cores", "sums of a product"] in kinds
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@CHECKED_AND_NOT
def test_threads_share_the_contraction_of_few_columns(monkeypatch, checked):
    """A sum is made of parts of eight threads; the small operand alone is in shared memory."""
    monkeypatch.setattr(narrow_tiles, "LEAST_BLOCKS", 1)
    batch = batch_of_bodies(NARROW.values())
    for module, *_, program in batch.cases:
        kernel = batch.kernels.written[program.steps[0].kernel]
        assert "__shfl_down_sync" in callees_in([kernel]), module
    assert not batch.differences(checked=checked)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sums_of_few_columns_stay_in_registers(monkeypatch, architecture):
    monkeypatch.setattr(narrow_tiles, "LEAST_BLOCKS", 1)
    source = batch_of_bodies(NARROW.values()).kernels.source("")
    for name, usage in nvrtc.compile(source, architecture).usage.items():
        assert usage.spilled_bytes <= 48, (name, usage)


@pytest.mark.slow
@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sums_stay_in_registers(monkeypatch, architecture):
    """And two blocks find room on a multiprocessor, where a thread has 32 sums or more.

    An index or two may wait in memory outside of the loop, but no more than 16 bytes.
    """
    for size in SIZES:
        monkeypatch.setattr(tile_sizes, "SIZES", (size,))
        sums = size.rows * size.columns // SIDE**2
        wide = sums * 8 > OWN_BYTES
        bodies = [b for b in PRODUCTS.values() if not wide or not any(t in b for t in WIDE)]
        source = batch_of_bodies(bodies).kernels.source("")
        for name, usage in nvrtc.compile(source, architecture).usage.items():
            assert usage.spilled_bytes <= 16, (size, name, usage)
            assert sums < MANY or usage.registers <= 128


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize(
    ("most_shared", "kind", "instruction"),
    [
        (nvrtc.MOST_SHARED_BYTES, "f16", "m64n128k16.f32.f16.f16"),
        (nvrtc.most_shared("sm_90"), "bf16", "m64n256k16.f32.bf16.bf16"),
        (nvrtc.most_shared("sm_90"), "s8", "m64n256k32.s32.s8.s8"),
    ],
)
def test_four_warps_of_an_h100_multiply_together(most_shared, kind, instruction):
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
    result = {"s8": "s32"}.get(kind, kind)
    text = (
        f"x = {kind}[2048,2048] parameter(0)  y = {kind}[2048,2048] parameter(1)"
        f"  ROOT r = {result}[2048,2048] dot(x, y), {dims}"
    )
    module = hlo.parse(f"HloModule products\nENTRY main {{ {text} }}")
    source = emit_cuda.emit(prepare(module), most_shared=most_shared).source
    assert f"wgmma.mma_async.sync.aligned.{instruction}" in nvrtc.ptx(source, "sm_90a")
    for architecture in ("sm_80", "sm_90", "sm_100"):
        ptx = nvrtc.ptx(source, architecture)
        assert "mma.sync.aligned.m16n8k" in ptx
        assert "wgmma" not in ptx
    # The cubin of sm_90 is that of sm_90a: its threads need no registers for factors.
    here, feature, elsewhere = (nvrtc.compile(source, a) for a in ("sm_90", "sm_90a", "sm_80"))
    assert here.usage == feature.usage != elsewhere.usage
    # Nor does the assembler let them wait for one product before the next.
    assert "serialized" not in here.log
    assert all(usage.spilled_bytes == 0 for usage in here.usage.values())


@pytest.mark.parametrize(("kind", "vector"), [("bf16", "u32x4"), ("f32", "f32x2")])
def test_lanes_exchange_sums_so_that_each_stores_16_bytes(kind, vector):
    """Four lanes would store 4 bytes each of 16 that lie side by side, half of a sector."""
    text = LARGE.format("bf16", 512, 512, 512).replace("r = bf16", f"r = {kind}")
    kernels = emit_cuda.emit(prepare(hlo.parse(text))).kernels.values()
    assert set(vectors_in(kernels, "r")) == {vector}
    assert ("gather_columns_f32" in callees_in(kernels)) == (kind == "bf16")


@pytest.mark.parametrize(
    ("dims", "grid"),
    [
        ((4096, 4096, 4096), 32 * 32),  # 128 x 128 sums a block
        ((1024, 1024, 1024), 8 * 16),  # 128 x 64 sums: 128 blocks for 132 multiprocessors
        ((640, 256, 640), 10 * 10),  # 64 x 64 sums
        ((100, 64, 100), 7 * 7),  # 16 x 16 sums
    ],
)
def test_small_products_have_smaller_tiles(dims, grid):
    (step,) = emit_cuda.emit(prepare(hlo.parse(LARGE.format("f32", *dims)))).steps
    assert step.grid == (grid, 1, 1)


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "kind"),
    [(8, 8, 8, "loop"), (8, 8, 16, "loop"), (8, 8, 64, "product"), (16, 16, 8, "product")],
)
def test_many_products_of_few_sums_are_loops(rows, columns, depth, kind):
    """A tile has 256 threads, each for a sum."""
    dims = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}"
    text = (
        f"x = f32[99,{rows},{depth}] parameter(0)  y = f32[99,{depth},{columns}] parameter(1)"
        f"  ROOT r = f32[99,{rows},{columns}] dot(x, y), {dims}, rhs_contracting_dims={{1}}"
    )
    module = hlo.parse(f"HloModule products\nENTRY main {{ {text} }}")
    (step,) = emit_cuda.emit(prepare(module)).steps
    assert step.kind == kind


def test_deep_products_of_few_tiles_are_split():
    first, second = emit_cuda.emit(prepare(hlo.parse(LARGE.format("f32", 256, 16384, 256)))).steps
    assert first.grid[0] >= 100
    assert second.kind == "sums of a product"
    assert len(emit_cuda.emit(prepare(hlo.parse(LARGE.format("f32", 256, 512, 256)))).steps) == 1


# Products of bytes, in all orders of dimensions.
BYTES = {
    "by rows": "x = s8[48,64] parameter(0)  y = s8[64,80] parameter(1)"
    "  ROOT r = s32[48,80] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "by columns": "x = s8[64,48] parameter(0)  y = s8[64,80] parameter(1)"
    "  ROOT r = s32[48,80] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "batches": "x = s8[3,4,40,16] parameter(0)  y = s8[16,3,4,36] parameter(1)"
    "  ROOT r = s32[3,40,36] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1},"
    " lhs_contracting_dims={1,3}, rhs_contracting_dims={2,0}",
    "prologue": "x = f32[64,48] parameter(0)  y = s8[80,64] parameter(1)  q = s8[64,48] convert(x)"
    "  ROOT r = s32[48,80] dot(q, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
}


@pytest.mark.parametrize("checked", [False, True])
def test_bytes_are_transposed_before_a_large_product(monkeypatch, checked):
    """Where their contracted dimensions do not come last: tiles are copied past the registers."""
    monkeypatch.setattr(byte_products, "LEAST_USES", 1)
    monkeypatch.setattr(byte_products, "LEAST_PRODUCTS", 1)
    batch = batch_of_bodies(BYTES.values(), optimize=True)
    kinds = [[step.kind for step in program.steps] for *_, program in batch.cases]
    assert all(each[-1] == "product on tensor cores" and len(each) > 1 for each in kinds)
    for *_, program in batch.cases:
        kernel = batch.kernels.written[program.steps[-1].kernel]
        assert "copy_16_bytes" in callees_in([kernel])
    assert not batch.differences(checked=checked)


def test_bytes_of_small_products_are_turned_on_their_way():
    text = LARGE.replace("{0}[{1},{3}] dot", "s32[{1},{3}] dot")
    kinds = [
        [step.kind for step in emit_cuda.emit(emit_cuda.optimized(hlo.parse(module))).steps]
        for module in (text.format("s8", n, k, n) for n, k in ((256, 256), (64, 1 << 18)))
    ]
    assert all("transpose" not in each for each in kinds)
    large = hlo.parse(text.format("s8", 1024, 1024, 1024))
    first, _ = emit_cuda.emit(emit_cuda.optimized(large)).steps
    assert first.kind == "transpose"


def test_neighbours_are_read_and_stored_at_once_and_meet_other_banks():
    (row,) = estimates(emit_cuda.emit(prepare(hlo.parse(LARGE.format("f32", 1024, 256, 2048)))))
    memory = {(a.array, a.verb): a for a in row.accesses if not a.shared}
    assert {each.bytes for each in memory.values()} == {16}
    assert all(each.requests == each.least for each in memory.values())
    assert all("no bank conflict" in str(a) for a in row.accesses if a.shared)
