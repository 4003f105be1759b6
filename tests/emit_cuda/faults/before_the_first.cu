// A stencil reads the left neighbour of the first element.
// launch: <<<1, 64>>> f32[64] f32[64]
extern "C" __global__ void difference(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = x[i] - x[i - 1];  // <- out of bounds
}
