// message: largest gives another result
extern "C" __global__ void largest(const float *x, float *most, int n) {
  __shared__ float part[64];
  float best = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    best = x[i] > best ? x[i] : best;
  part[threadIdx.x] = best;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half && part[threadIdx.x + half] > part[threadIdx.x])
      part[threadIdx.x] = part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) most[blockIdx.x] = part[0];
}
