// The mask is right, but lanes 8 to 15 take values of lanes that it does not name.
// launch: <<<1, 32>>> f32[32]
extern "C" __global__ void half_down(float *y) {
  if (threadIdx.x < 16) {
    float other = __shfl_down_sync(0x0000ffff, y[threadIdx.x], 8);  // <- absent lane
    y[threadIdx.x] += other;
  }
}
