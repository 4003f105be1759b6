// All threads add to one counter of the block.
// launch: <<<1, 64>>> f32[64] s32[1]
extern "C" __global__ void count_positive(const float *x, int *count) {
  __shared__ int of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  if (x[threadIdx.x] >= 0) of_block += 1;  // <- race
  __syncthreads();
  if (threadIdx.x == 0) *count = of_block;
}
