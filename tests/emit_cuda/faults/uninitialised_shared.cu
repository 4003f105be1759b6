// The counts are never set to zero. They are integers, so that no NaN tells.
// launch: <<<1, 64>>> s32[64] s32[16]
extern "C" __global__ void histogram(const int *x, int *counts) {
  __shared__ int of_block[16];
  atomicAdd(&of_block[x[threadIdx.x] & 15], 1);  // <- uninitialised
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x] = of_block[threadIdx.x];  // <- or uninitialised
}
