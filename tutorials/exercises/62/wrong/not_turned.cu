// message: transpose gives another result
extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[8][9];
  int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  if (row < rows && column < columns) y[row * columns + column] = tile[threadIdx.y][threadIdx.x];
}
