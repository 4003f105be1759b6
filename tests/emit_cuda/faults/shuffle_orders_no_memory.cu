// The lanes have met in a shuffle, which does not order their accesses to memory.
// launch: <<<1, 32>>> f32[32] f32[32]
extern "C" __global__ void neighbours(const float *x, float *y) {
  __shared__ float tile[32];
  float sum = __shfl_xor_sync(~0u, x[threadIdx.x], 1);
  tile[threadIdx.x] = sum;
  sum += __shfl_xor_sync(~0u, sum, 2);
  y[threadIdx.x] = tile[threadIdx.x ^ 4] + sum;  // <- race
}
