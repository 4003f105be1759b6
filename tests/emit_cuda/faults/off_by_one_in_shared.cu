// The last thread writes after the end of the row of partial sums.
// launch: <<<1, 64>>> f32[64] f32[64]
extern "C" __global__ void scan_step(const float *x, float *y) {
  __shared__ float part[64], other[64];
  other[threadIdx.x] = 0;
  part[threadIdx.x + 1] = x[threadIdx.x];  // <- out of bounds
  __syncthreads();
  y[threadIdx.x] = part[threadIdx.x] + other[threadIdx.x];  // <- or uninitialised
}
