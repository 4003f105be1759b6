// Four floats are loaded at once, from an address that is no multiple of 16.
// launch: <<<1, 32>>> f32[129] f32[128]
extern "C" __global__ void shifted(const float *x, float *y) {
  float4 four = *(const float4 *)(x + 4 * threadIdx.x + 1);  // <- misaligned
  *(float4 *)(y + 4 * threadIdx.x) = four;
}
