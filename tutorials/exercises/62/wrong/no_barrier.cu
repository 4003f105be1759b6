// message: transpose: uninitialised
extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[8][9];
  int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  column = blockIdx.y * 8 + threadIdx.x, row = blockIdx.x * 8 + threadIdx.y;
  if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}
