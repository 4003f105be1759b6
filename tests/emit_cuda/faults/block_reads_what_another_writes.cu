// A block takes the sum of the block before it: blocks have no order.
// launch: <<<3, 32>>> f32[96] f32[3]
extern "C" __global__ void running(const float *x, float *sums) {
  float sum = x[blockIdx.x * 32 + threadIdx.x];
  for (int k = 16; k; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
  if (threadIdx.x == 0) {
    float before = blockIdx.x ? sums[blockIdx.x - 1] : 0.0f;  // <- race between blocks
    sums[blockIdx.x] = before + sum;  // <- or race between blocks
  }
}
