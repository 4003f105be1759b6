// Sums of a tile of 16 x 16 products of matrices, spread over the lanes of a warp.
#include <mma.h>
struct f32_16x16 {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> lanes;
};

static __device__ inline void clear_f32_16x16(f32_16x16 &sums) {
  nvcuda::wmma::fill_fragment(sums.lanes, 0.0f);
}

static __device__ inline void store_f32_16x16(f32 *to, const f32_16x16 &sums, u32 pitch) {
  nvcuda::wmma::store_matrix_sync(to, sums.lanes, pitch, nvcuda::wmma::mem_row_major);
}

// The same of integers.
#include <mma.h>
struct s32_16x16 {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, int> lanes;
};

static __device__ inline void clear_s32_16x16(s32_16x16 &sums) {
  nvcuda::wmma::fill_fragment(sums.lanes, 0);
}

static __device__ inline void store_s32_16x16(s32 *to, const s32_16x16 &sums, u32 pitch) {
  nvcuda::wmma::store_matrix_sync(to, sums.lanes, pitch, nvcuda::wmma::mem_row_major);
}

// Adds the product of two tiles of 16 x 16, of which the left one lies column after column.
static __device__ inline void multiply_tiles_bf16(f32_16x16 &sums, const bf16 *left,
                                                  const bf16 *right, u32 pitch) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, col_major> a;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> b;
  load_matrix_sync(a, (const __nv_bfloat16 *)left, pitch);
  load_matrix_sync(b, (const __nv_bfloat16 *)right, pitch);
  mma_sync(sums.lanes, a, b, sums.lanes);
}

static __device__ inline void multiply_tiles_f16(f32_16x16 &sums, const f16 *left,
                                                 const f16 *right, u32 pitch) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, col_major> a;
  fragment<matrix_b, 16, 16, 16, half, row_major> b;
  load_matrix_sync(a, (const half *)left, pitch);
  load_matrix_sync(b, (const half *)right, pitch);
  mma_sync(sums.lanes, a, b, sums.lanes);
}

static __device__ inline void multiply_tiles_s8(s32_16x16 &sums, const s8 *left, const s8 *right,
                                                u32 pitch) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, signed char, col_major> a;
  fragment<matrix_b, 16, 16, 16, signed char, row_major> b;
  load_matrix_sync(a, left, pitch);
  load_matrix_sync(b, right, pitch);
  mma_sync(sums.lanes, a, b, sums.lanes);
}
