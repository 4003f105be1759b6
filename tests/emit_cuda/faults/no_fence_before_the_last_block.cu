// The last block adds what the others have stored, but nothing makes them store it first.
// launch: <<<4, 32>>> f32[4] s32[1] f32[1]
extern "C" __global__ void total(float *parts, int *done, float *y) {
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = blockIdx.x;  // <- or race between blocks
    if (atomicAdd(done, 1) == gridDim.x - 1) {
      float sum = 0;
      for (int k = 0; k < gridDim.x; ++k) sum += parts[k];  // <- or race between blocks
      *y = sum;
    }
  }
}
