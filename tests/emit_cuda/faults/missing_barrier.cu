// Each thread reads its neighbour's element of the tile, which may not be there yet.
// launch: <<<2, 128>>> f32[256] f32[256]
extern "C" __global__ void reverse(const float *x, float *y) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i];  // <- or race
  y[i] = tile[127 - threadIdx.x];  // <- race, uninitialised
}
