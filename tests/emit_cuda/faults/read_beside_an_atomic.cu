// The count is read while other threads still add to it.
// launch: <<<1, 64>>> s32[64] s32[1]
extern "C" __global__ void count(int *seen, int *total) {
  __shared__ int of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  atomicAdd(&of_block, 1);  // <- or race
  seen[threadIdx.x] = of_block;  // <- race
  if (threadIdx.x == 0) *total = 64;
}
