// The tile has rows of 32 elements; the store takes rows of 33, as for a padded tile.
// launch: <<<1, (32, 8)>>> f32[32,32] f32[32,32]
extern "C" __global__ void transpose(const float *x, float *y) {
  __shared__ float tile[32 * 32];
  for (int row = threadIdx.y; row < 32; row += 8)
    tile[row * 33 + threadIdx.x] = x[row * 32 + threadIdx.x];  // <- out of bounds
  __syncthreads();
  for (int row = threadIdx.y; row < 32; row += 8)
    y[row * 32 + threadIdx.x] = tile[threadIdx.x * 33 + row];  // <- or out of bounds
}
