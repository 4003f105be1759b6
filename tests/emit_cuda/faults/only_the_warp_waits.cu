// A barrier of the warp is not enough where another warp wrote.
// launch: <<<1, 64>>> f32[64] f32[64]
extern "C" __global__ void swap_halves(const float *x, float *y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];  // <- or race
  __syncwarp();
  y[threadIdx.x] = tile[threadIdx.x ^ 32];  // <- race, uninitialised
}
