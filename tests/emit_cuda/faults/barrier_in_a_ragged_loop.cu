// Threads of one block go through the loop a different number of times.
// launch: <<<1, 64>>> f32[100] f32[1]
extern "C" __global__ void strided(const float *x, float *y) {
  __shared__ float tile[64];
  float sum = 0;
  for (int i = threadIdx.x; i < 100; i += 64) {
    tile[threadIdx.x] = x[i];
    __syncthreads();  // <- divergent barrier
    sum += tile[threadIdx.x];
  }
  if (threadIdx.x == 0) *y = sum;
}
