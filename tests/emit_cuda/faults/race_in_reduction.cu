// A tree of sums whose barrier is after the loop, not in it.
// launch: <<<1, 128>>> f32[128] f32[1]
extern "C" __global__ void sum(const float *x, float *y) {
  __shared__ float part[128];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int k = 64; k; k /= 2)
    if (threadIdx.x < k)
      part[threadIdx.x] += part[threadIdx.x + k];  // <- race
  __syncthreads();
  if (threadIdx.x == 0) *y = part[0];
}
