// message: row_sums gives another result
extern "C" __global__ void row_sums(const float *x, float *sums, int columns) {
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int j = 0; j < columns && j < 64; j++) sum += x[blockIdx.x * columns + j];
    sums[blockIdx.x] = sum;
  }
}
