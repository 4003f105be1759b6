// Both branches have a barrier, but not the same one.
// launch: <<<1, 64>>> f32[64]
extern "C" __global__ void branches(float *y) {
  if (threadIdx.x % 2) {
    y[threadIdx.x] = 1;
    __syncthreads();  // <- divergent barrier
  } else {
    __syncthreads();  // <- or divergent barrier
    y[threadIdx.x] = 2;
  }
}
