"""CUDA C on the processor computes what it computes on a GPU."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import emit_cuda
import hlo
from emit_cuda import host
from emit_cuda.cuda_file import CudaFile
from emit_cuda.devices import Purpose


def launch(source, kernel, grid, block, arrays, scalars=(), shared=0, **options):
    """Run a kernel on arrays, which it changes, and on scalars; gives the findings."""
    library = host.compile(source, **options)
    memory = [
        host.NamedMemory(a.ctypes.data, a.nbytes, f"argument {k}") for k, a in enumerate(arrays)
    ]
    grid, block = ((*dims, 1, 1)[:3] for dims in (grid, block))
    arguments = [*(a.ctypes.data for a in arrays), *scalars]
    return library.launch(kernel, grid, block, shared, arguments, memory=memory)


BLOCK_SUM = """
extern "C" __global__ void block_sum(const float *x, float *sums, int n) {
  __shared__ float of_warp[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = i < n ? x[i] : 0.0f;
  for (int k = 16; k; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0f;
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_reduction_with_shuffles(checked):
    x, sums = np.arange(1000, dtype=np.float32), np.empty(4, np.float32)
    found = launch(
        BLOCK_SUM, "block_sum", (4,), (256,), [x, sums], [np.int32(1000)], checked=checked
    )
    assert found == ()
    assert (sums == [x[k : k + 256].sum() for k in range(0, 1000, 256)]).all()


def test_a_kernel_that_waits_for_ever_is_an_error():
    source = """
extern "C" __global__ void stuck() {
  if (threadIdx.x < 16)
    __shfl_sync(0xffffffff, 1, 0);
  else
    __syncthreads();
}
"""
    with pytest.raises(hlo.HloError, match="waits for lanes 0xffff0000 for ever") as caught:
        launch(source, "stuck", (1,), (32,), [])
    assert caught.value.code == "HLO192"
    assert "kernels.cu:4" in caught.value.notes[0]


def test_a_compilers_message_shows_the_line():
    with pytest.raises(hlo.HloError, match="refuses the CUDA file") as caught:
        host.compile("__global__ void wrong() {\n  // hlo: %x\n  int i = none;\n}\n")
    assert caught.value.code == "HLO190"
    assert caught.value.notes[0].startswith("kernels.cu:3: ")
    assert caught.value.notes[0].endswith(": int i = none;")
    assert caught.value.notes[1] == "it computes %x"


@pytest.mark.parametrize("checked", [False, True])
def test_a_device_has_the_verbs_of_a_gpu(checked):
    device = host.HostDevice(checked=checked)
    kernels = device.load(BLOCK_SUM)
    x = np.arange(512, dtype=np.float32)
    of_x, of_sums = device.allocate(x.nbytes), device.allocate(8)
    device.write(of_x, x)
    kernels.launch("block_sum", (2, 1, 1), (256, 1, 1), 0, (of_x, of_sums, np.int32(512)))
    sums = np.empty(2, np.float32)
    device.read(of_sums, sums)
    assert sums.tolist() == [x[:256].sum(), x[256:].sum()]


def test_a_buffer_inside_of_an_allocation_has_its_own_bounds():
    device = host.HostDevice(checked=True)
    arena = device.allocate(8192)
    memory = [host.NamedMemory(arena, 1024, "x"), host.NamedMemory(arena + 4096, 8, "sums")]
    with pytest.raises(hlo.HloError, match="out of bounds") as caught:
        device.load(BLOCK_SUM).launch(
            *("block_sum", (2, 1, 1), (256, 1, 1), 0, (arena, arena + 4096, np.int32(512))),
            purpose=Purpose(memory=memory),
        )
    assert caught.value.code == "HLO193"
    assert "reads 4 bytes at byte 1024 of x" in caught.value.notes[0]


def test_a_line_of_an_emitted_kernel_has_its_instruction():
    module = hlo.parse("""HloModule m
ENTRY e {
  x = f32[7] parameter(0)
  y = f32[7] parameter(1)
  add.4 = f32[7] add(x, y)
  sine = f32[7] sine(add.4)
  ROOT product = f32[7] multiply(sine, add.4)
}""")
    file = CudaFile(emit_cuda.emit(emit_cuda.optimized(module)).source)
    rows = enumerate(file.text.splitlines(), 1)
    about = {row.strip(): file.about(number) for number, row in rows}
    assert about["const f32 add_4 = x_1 + y_1;"] == "%add.4 = f32[7]{0} add(%x, %y)"
    assert about["const f32 sine_1 = sine_f32(add_4);"] == "%sine = f32[7]{0} sine(%add.4)"
    # What only loads is there for the last one, as whatever is in the kernel.
    assert about["const f32 y_1 = y[thread];"] == about["if (thread < 7) {"]
    assert about["if (thread < 7) {"].startswith("%product = ")
    assert about["typedef float f32;"] == ""
    assert CudaFile("int x;").about(1) == ""


def test_threads_may_launch_at_once():
    library = host.compile(BLOCK_SUM, checked=True)
    x = np.ones(256, np.float32)

    def call(_):
        sums = np.empty(1, np.float32)
        memory = [host.NamedMemory(a.ctypes.data, a.nbytes, "array") for a in (x, sums)]
        given = (x.ctypes.data, sums.ctypes.data, np.int32(256))
        found = library.launch("block_sum", (1, 1, 1), (256, 1, 1), 0, given, memory=memory)
        return found == () and sums[0] == 256

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(20)))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux tells what is mapped")
def test_libraries_share_their_stacks_and_are_unloaded():
    def mapped():
        gc.collect()
        return len(Path("/proc/self/maps").read_text().splitlines())

    x, sums = np.ones(256, np.float32), np.empty(1, np.float32)
    given = (x.ctypes.data, sums.ctypes.data, np.int32(256))
    counts = []
    for number in range(3):
        library = host.compile(BLOCK_SUM + f"// file {number}\n")
        library.launch("block_sum", (1, 1, 1), (256, 1, 1), 0, given)
        counts.append(mapped())
    # A stack is two mappings, a library some: 256 stacks of its own would be more than 512.
    assert counts[2] - counts[0] < 64
    path = str(library.path)
    assert path in Path("/proc/self/maps").read_text()
    del library
    gc.collect()
    assert path not in Path("/proc/self/maps").read_text()


def test_a_mistake_of_a_line_is_told_once():
    source = "__global__ void sum(float *x, float *total) {\n  *total += x[threadIdx.x];\n}\n"
    found = launch(source, "sum", (1,), (64,), [np.ones(64, np.float32), np.zeros(1, np.float32)],
                   checked=True)  # fmt: skip
    assert [(each.fault, each.here.line) for each in found] == [("race", 2)]
