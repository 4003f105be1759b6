// message: add: race between blocks
extern "C" __global__ void add(const float *x, const float *y, float *sum, int n) {
  int i = threadIdx.x;
  if (i < n) sum[i] = x[i] + y[i];
}
