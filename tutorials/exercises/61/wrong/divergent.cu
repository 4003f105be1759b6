// message: row_sums: divergent barrier
extern "C" __global__ void row_sums(const float *x, float *sums, int columns) {
  __shared__ float part[64];
  float sum = 0;
  for (int j = threadIdx.x; j < columns; j += 64) sum += x[blockIdx.x * columns + j];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      part[threadIdx.x] += part[threadIdx.x + half];
      __syncthreads();
    }
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
