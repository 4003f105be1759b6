// A second run of an iteration would read what the first one has written.
f32 t = 0;
#pragma omp simd reduction(+ : t)
for (s64 j = 0; j < 37; j++) {
  const f32 v = x[j];
  x[j] = v * 2;
  t = t + v;
}
// EXPECT
f32 t = 0;
f32 lanes_1[16];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 16; k_1++) {
  lanes_1[k_1] = -0.0f;
}
for (s64 j_block = 0; j_block < 32; j_block += 16) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 j = j_block + k_1;
    const f32 v = x[j];
    x[j] = v * 2;
    lanes_1[k_1] = lanes_1[k_1] + v;
  }
}
#pragma omp simd
for (s64 j = 32; j < 37; j++) {
  const f32 v = x[j];
  x[j] = v * 2;
  lanes_1[j - 32] = lanes_1[j - 32] + v;
}
sum_of_lanes(lanes_1);
t = t + lanes_1[0];
