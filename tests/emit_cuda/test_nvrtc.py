"""Every kernel compiles for GPUs as well, without a GPU."""

from pathlib import Path

import pytest

import hlo
from emit_cuda import nvrtc
from emit_cuda.gpu.device import FLUSHING
from emit_cuda.nvrtc import library

HERE = Path(__file__).parent
FAULTS = sorted((HERE / "faults").glob("*.cu"))
# The header of cooperative groups needs files that no wheel of the compiler has.
COMPILED = [path for path in FAULTS if "cooperative_groups" not in path.read_text()]
ADD = """
extern "C" __global__ void add(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}
"""
pytestmark = pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_a_cubin_for_each_architecture(architecture):
    made = nvrtc.compile(ADD, architecture)
    assert made.code.startswith(b"\x7fELF")
    assert made.names == {"add": "add"}
    assert 0 < made.usage["add"].registers < 32
    assert made.usage["add"].shared_bytes == 0


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_the_same_files_compile_that_run_on_the_processor(path):
    """What is wrong with these kernels, no compiler sees."""
    assert nvrtc.compile(path.read_text(), name=path.name).code


def test_flushing_is_in_the_instructions():
    """With it, PTX adds f32 by `add.rn.ftz.f32`, which takes subnormal numbers for zeros."""
    assert "add.rn.f32" in nvrtc.ptx(ADD)
    assert "add.rn.ftz.f32" in nvrtc.ptx(ADD, options=FLUSHING)


def test_shared_memory_and_spills_are_told():
    source = """
extern "C" __global__ void f(float *x) {
  __shared__ float tile[32][33];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}"""
    assert nvrtc.compile(source).usage["f"].shared_bytes == 32 * 33 * 4


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "blocks", "limits"),
    [
        # As NVIDIA's occupancy calculator has it for an H100.
        (32, 0, 256, 8, ("warps", "registers")),
        (40, 0, 256, 6, ("registers",)),
        (255, 0, 256, 1, ("registers",)),
        (16, 0, 32, 32, ("blocks",)),
        (32, 48 << 10, 128, 4, ("shared memory",)),
    ],
)
def test_occupancy_of_an_h100(registers, shared, threads, blocks, limits):
    usage = nvrtc.Usage(registers, shared, 0, 0)
    full = nvrtc.occupancy(usage, threads)
    assert (full.blocks, full.limits) == (blocks, limits)
    assert full.warps == blocks * threads // 32


def test_a_block_that_does_not_fit_is_refused():
    with pytest.raises(hlo.HloError, match="no block of 1024 threads fits: too many registers"):
        nvrtc.occupancy(nvrtc.Usage(128, 0, 0, 0), 1024)
    with pytest.raises(hlo.HloError, match="no architecture 'sm_1'"):
        nvrtc.occupancy(nvrtc.Usage(128, 0, 0, 0), 32, architecture="sm_1")


def test_ptx_is_text():
    assert ".visible .entry add(" in nvrtc.ptx(ADD)


def test_a_kernel_that_is_not_c_has_a_symbol():
    made = nvrtc.compile("__global__ void add(float *x) { *x += 1; }")
    assert made.names["add"] == "_Z3addPf"
    assert made.usage["add"].registers


def test_products_are_not_fused_with_sums():
    ptx = nvrtc.ptx('extern "C" __global__ void f(float *x) { x[0] = x[1] * x[2] + x[3]; }')
    assert "fma" not in ptx


def test_an_error_shows_its_line_and_the_hlo():
    with pytest.raises(hlo.HloError, match="NVRTC refuses") as caught:
        nvrtc.compile("// hlo: %sum = add(x, y)\n__global__ void f() {\n  int i = none;\n}")
    assert caught.value.code == "HLO190"
    assert caught.value.notes == (
        'kernels.cu:3: identifier "none" is undefined: int i = none;',
        "it computes %sum = add(x, y)",
    )


def test_without_nvrtc_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(library, "_roots", list)
    library.nvrtc.cache_clear()
    try:
        assert "pip install" in nvrtc.missing()
        with pytest.raises(hlo.HloError, match="not installed") as caught:
            nvrtc.compile(ADD + "// another file\n")
        assert caught.value.code == "HLO195"
    finally:
        library.nvrtc.cache_clear()


def test_without_a_disassembler_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(library, "_roots", list)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(hlo.HloError, match="no nvdisasm") as caught:
        nvrtc.sass(b"")
    assert "nvidia-cuda-nvdisasm" in caught.value.notes[0]
