// message: add: out of bounds
extern "C" __global__ void add(const float *x, const float *y, float *sum, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i <= n) sum[i] = x[i] + y[i];
}
