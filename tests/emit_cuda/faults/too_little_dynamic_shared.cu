// The launch gives the block 400 bytes, and the kernel takes 512.
// launch: <<<1, 128, 400>>> f32[128] f32[128]
extern "C" __global__ void reverse(const float *x, float *y) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];  // <- out of bounds
  __syncthreads();
  y[threadIdx.x] = tile[127 - threadIdx.x];
}
