"""Kernels as in every CUDA course, on the processor: right, and clean in checked mode.

References
----------
NVIDIA, *CUDA C++ Programming Guide*; M. Harris, *Optimizing parallel reduction in CUDA*.
"""

import numpy as np
import pytest
from ml_dtypes import bfloat16

from emit_cuda import host, nvrtc

# Without checks, kernels of the same kinds run in other tests as well.
BOTH = pytest.mark.parametrize("checked", [pytest.param(False, marks=pytest.mark.slow), True])
RANDOM = np.random.default_rng(0)


def run(source, grid, block, *arguments, shared=0, checked=False, seed=0, kernel=None, **options):
    """Run the kernel of a file; arrays are changed in place, and nothing must be found.

    The same text must compile for a GPU.
    """
    assert nvrtc.missing() or nvrtc.compile(source)
    library = host.compile(source, checked=checked, **options)
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    memory = [host.NamedMemory(a.ctypes.data, a.nbytes, f"array {k}") for k, a in enumerate(arrays)]
    given = [a.ctypes.data if isinstance(a, np.ndarray) else np.int32(a) for a in arguments]
    name = kernel or next(iter(library.kernels))
    grid, block = ((*np.atleast_1d(dims).tolist(), 1, 1)[:3] for dims in (grid, block))
    assert library.launch(name, grid, block, shared, given, memory=memory, seed=seed) == ()


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


@BOTH
def test_transpose_through_a_padded_tile(checked):
    x, y = normal(70, 45), np.empty((45, 70), np.float32)
    source = """
__global__ void transpose(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (row + k < rows && column < columns)
      tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * columns + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (row + k < columns && column < rows)
      y[(row + k) * rows + column] = tile[threadIdx.x][threadIdx.y + k];
}"""
    run(source, (2, 3), (32, 8), x, y, 70, 45, checked=checked, seed=1)
    assert (y == x.T).all()


@BOTH
def test_product_of_matrices_by_tiles(checked):
    m, n, k = 40, 33, 50
    x, y, z = normal(m, k), normal(k, n), np.empty((m, n), np.float32)
    source = """
#define TILE 16
__global__ void __launch_bounds__(256)
gemm(const float *__restrict__ x, const float *__restrict__ y, float *z, int m, int n, int k) {
  __shared__ float a[TILE][TILE], b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += TILE) {
    int i = first + threadIdx.x, j = first + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < m && i < k ? x[row * k + i] : 0;
    b[threadIdx.y][threadIdx.x] = j < k && column < n ? y[j * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int t = 0; t < TILE; ++t) sum = fmaf(a[threadIdx.y][t], b[t][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && column < n) z[row * n + column] = sum;
}"""
    run(source, (3, 3), (16, 16), x, y, z, m, n, k, checked=checked, seed=2)
    np.testing.assert_allclose(z, x @ y, rtol=1e-4, atol=1e-5)


@BOTH
def test_scan_of_a_block_in_extern_shared_memory(checked):
    x, y = np.arange(512, dtype=np.int32), np.empty(512, np.int32)
    source = """
template <typename T> __device__ T scanned(T *part, int n) {
  for (int k = 1; k < n; k *= 2) {
    T before = threadIdx.x >= k ? part[threadIdx.x - k] : 0;
    __syncthreads();
    part[threadIdx.x] += before;
    __syncthreads();
  }
  return part[threadIdx.x];
}
extern "C" __global__ void scan(const int *x, int *y) {
  extern __shared__ __align__(16) int part[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = scanned(part, blockDim.x);
}"""
    run(source, 2, 256, x, y, shared=1024, checked=checked, seed=3)
    assert (y == x.reshape(2, 256).cumsum(axis=1).ravel()).all()


@BOTH
def test_histogram_with_atomics(checked):
    x, counts = RANDOM.integers(0, 256, 5000).astype(np.uint8), np.zeros(256, np.int32)
    source = """
__global__ void histogram(const unsigned char *x, int *counts, int n) {
  __shared__ int of_block[256];
  of_block[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    atomicAdd(&of_block[x[i]], 1);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], of_block[threadIdx.x]);
}"""
    run(source, 4, 256, x, counts, 5000, checked=checked, seed=4)
    assert (counts == np.bincount(x, minlength=256)).all()


@BOTH
def test_maximum_by_compare_and_swap(checked):
    """As the programming guide has it: a plain read, then swaps until nobody came between."""
    x, most = normal(1000), np.full(1, -np.inf, np.float32)
    source = """
__device__ void atomic_max(float *address, float value) {
  int *word = (int *)address, old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
}
__global__ void maximum(const float *x, float *most, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(most, x[i]);
}"""
    run(source, 8, 128, x, most, 1000, checked=checked, seed=5)
    assert most[0] == x.max()


@BOTH
def test_the_last_block_adds_what_the_others_have_stored(checked):
    """Ordered by a fence and an atomic, as in the sample threadFenceReduction."""
    x, parts, done, total = normal(1024), np.zeros(8, np.float32), np.zeros(1, np.uint32), normal(1)
    source = """
__global__ void sum(const float *x, volatile float *parts, unsigned *done, float *total) {
  __shared__ float part[128];
  __shared__ bool is_last;
  part[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  for (int k = 64; k; k /= 2) {
    __syncthreads();
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = part[0];
    __threadfence();
    is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float sum = 0;
    for (int k = 0; k < gridDim.x; ++k) sum += parts[k];
    *total = sum;
  }
}"""
    run(source, 8, 128, x, parts, done, total, checked=checked, seed=6)
    np.testing.assert_allclose(total[0], x.sum(), rtol=1e-3, atol=1e-4)


@BOTH
def test_half_and_bfloat16_round_as_numpy_does(checked):
    x = np.concatenate(
        [normal(200) * 1000, [np.nan, np.inf, -np.inf, 0, -0.0, 65519.9, 65520, 6e-8]]
    )
    x = x.astype(np.float32)
    h, b = np.empty(x.size, np.float16), np.empty(x.size, bfloat16)
    sums, back = np.empty(x.size, np.float16), np.empty(x.size, np.float32)
    source = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void rounded(const float *x, __half *h, __nv_bfloat16 *b, half *sums, float *back,
                        int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  h[i] = __float2half(x[i]);
  b[i] = __float2bfloat16_rn(x[i]);
  sums[i] = __hadd(h[i], __float2half(1.0f)) * __half(0.5);
  back[i] = __half2float(h[i]) + __bfloat162float(b[i]);
}"""
    run(source, 2, 128, x, h, b, sums, back, x.size, checked=checked)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = x.astype(np.float16), x.astype(bfloat16)
        np.testing.assert_array_equal(h, wanted[0])
        np.testing.assert_array_equal(b.astype(np.float32), wanted[1].astype(np.float32))
        np.testing.assert_array_equal(sums, (h + np.float16(1)) * np.float16(0.5))
        np.testing.assert_array_equal(back, h.astype(np.float32) + b.astype(np.float32))


def test_every_half_is_read_and_written_back():
    words = np.arange(1 << 16, dtype=np.uint16)
    floats, back = np.empty(1 << 16, np.float32), np.empty(1 << 16, np.uint16)
    source = """
#include <cuda_fp16.h>
__global__ void every(const half *x, float *floats, half *back) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  floats[i] = x[i];
  back[i] = half(floats[i]);
}"""
    run(source, 64, 1024, words, floats, back)
    np.testing.assert_array_equal(floats, words.view(np.float16).astype(np.float32))
    numbers = ~np.isnan(floats)
    assert (back == words)[numbers].all()
    assert (back == 0x7FFF)[~numbers & (words < 0x8000)].all()


def test_a_double_is_rounded_to_half_once():
    """1 + 2^-11 + 2^-40 is above the tie between two halves; rounded to float, it is the tie."""
    x, y = np.array([1 + 2**-11 + 2**-40]), np.empty(1, np.float16)
    source = """
#include <cuda_fp16.h>
__global__ void f(const double *x, half *y) { *y = __double2half(*x); }"""
    run(source, 1, 1, x, y)
    assert y[0] == x.astype(np.float16)[0] == np.float16(1 + 2**-10)


@BOTH
def test_vectors_of_four(checked):
    x, y = normal(512), np.empty(512, np.float32)
    source = """
__global__ void saxpy(const float4 *x, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = __ldg(&x[i]);
  y[i] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
}"""
    run(source, 2, 64, x, y, checked=checked)
    assert (y == x * 2).all()


@BOTH
@pytest.mark.parametrize("name", ["half", "__nv_bfloat16"])
def test_wmma_multiplies_matrices_held_by_a_warp(checked, name):
    dtype = np.float16 if name == "half" else bfloat16
    x, y = normal(16, 32).astype(dtype), normal(32, 16).astype(dtype)
    z = np.empty((16, 16), np.float32)
    source = f"""
#include <mma.h>
using namespace nvcuda;
__global__ void product(const {name} *x, const {name} *y, float *z) {{
  wmma::fragment<wmma::matrix_a, 16, 16, 16, {name}, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, {name}, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  for (int k = 0; k < 32; k += 16) {{
    wmma::load_matrix_sync(a, x + k, 32);
    wmma::load_matrix_sync(b, y + k * 16, 16);
    wmma::mma_sync(c, a, b, c);
  }}
  wmma::store_matrix_sync(z, c, 16, wmma::mem_row_major);
}}"""
    run(source, 1, 32, x, y, z, checked=checked)
    np.testing.assert_allclose(z, x.astype(np.float32) @ y.astype(np.float32), rtol=1e-5, atol=1e-5)


@BOTH
def test_votes_and_matches(checked):
    y = np.empty((6, 32), np.uint32)
    source = """
__global__ void votes(unsigned *y) {
  unsigned lane = threadIdx.x, all = 0xffffffff;
  y[lane] = __ballot_sync(all, lane % 3 == 0);
  y[32 + lane] = __any_sync(all, lane == 7) + 2 * __all_sync(all, lane < 32);
  y[64 + lane] = __match_any_sync(all, lane / 8);
  y[96 + lane] = __reduce_add_sync(all, lane);
  unsigned half = lane < 16 ? 0xffff : 0xffff0000;
  y[128 + lane] = __shfl_up_sync(half, lane, 2, 16);
  y[160 + lane] = __syncthreads_count(lane < 5) + 100 * __popc(lane) + 10000 * __clz(lane);
}"""
    run(source, 1, 32, y, checked=checked, seed=7)
    lane = np.arange(32)
    assert set(y[0]) == {sum(1 << k for k in range(0, 32, 3))}
    assert set(y[1]) == {3}
    assert (y[2] == np.uint32(0xFF) << (lane // 8 * 8).astype(np.uint32)).all()
    assert set(y[3]) == {496}
    assert (y[4] == np.where(lane % 16 < 2, lane, lane - 2)).all()
    assert (
        y[5] == [5 + 100 * k.bit_count() + 10000 * (32 - k.bit_length()) for k in range(32)]
    ).all()


def test_an_instance_of_a_template_is_a_kernel():
    x, y = np.arange(64.0), np.empty(64)
    source = """
template <class T> __global__ void twice(const T *x, T *y) {
  y[threadIdx.x] = 2 * x[threadIdx.x];
}"""
    run(source, 1, 64, x, y, kernels=["twice<double>"], kernel="twice<double>")
    assert (y == 2 * x).all()


def test_blocks_of_three_dimensions_and_several_processors():
    y = np.zeros((8, 16, 32, 4, 4, 8), np.int32)
    source = """
__global__ void place(int *y) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  y[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}"""
    run(source, (32, 16, 8), (8, 4, 4), y)
    wanted = np.arange(4096)[:, None] * 1000 + np.arange(128)
    assert (y.reshape(4096, 128) == wanted).all()
