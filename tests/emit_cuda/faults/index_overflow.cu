// Row 65536 of 32768 columns begins at element 2^31, which is no int.
// launch: <<<1, 32>>> f32[32] s32=65535
extern "C" __global__ void last_rows(float *y, int row) {
  int columns = 32768;
  int i = (row + 1) * columns + threadIdx.x;  // <- index overflow
  if (i >= 0 && i < 32) y[i] = 1;
}
