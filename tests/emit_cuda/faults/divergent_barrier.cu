// Only the threads of the first half come to the barrier.
// launch: <<<1, 64>>> f32[64]
extern "C" __global__ void half_waits(float *y) {
  if (threadIdx.x < 32) {
    y[threadIdx.x] = 1;
    __syncthreads();  // <- divergent barrier
  }
}
