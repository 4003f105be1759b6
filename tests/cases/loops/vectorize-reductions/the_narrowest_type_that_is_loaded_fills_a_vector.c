// Compilers take vectors of as many lanes for all types; so few bytes would have short ones.
f32 t = 0;
#pragma omp simd reduction(+ : t)
for (s64 j = 0; j < 70; j++) {
  const pred m = mask[j];
  t = t + x[j];
}
// EXPECT
f32 t = 0;
f32 lanes_1[64];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  lanes_1[k_1] = -0.0f;
}
for (s64 j_block = 0; j_block < 64; j_block += 64) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    const s64 j = j_block + k_1;
    const pred m = mask[j];
    lanes_1[k_1] = lanes_1[k_1] + x[j];
  }
}
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  const s64 j = k_1 + 6;
  const pred m = mask[j];
  lanes_1[k_1] = k_1 >= 58 ? lanes_1[k_1] + x[j] : lanes_1[k_1];
}
sum_of_lanes(lanes_1);
t = t + lanes_1[0];

f32 t = 0;
#pragma omp simd reduction(+ : t)
for (s64 j = 0; j < 70; j++) {
  if (c) {
    const pred m = mask[j];
    t = t + m;
  }
  t = t + x[j];
}
// EXPECT
f32 t = 0;
f32 lanes_1[64];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  lanes_1[k_1] = -0.0f;
}
for (s64 j_block = 0; j_block < 64; j_block += 64) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    const s64 j = j_block + k_1;
    if (c) {
      const pred m = mask[j];
      lanes_1[k_1] = lanes_1[k_1] + m;
    }
    lanes_1[k_1] = lanes_1[k_1] + x[j];
  }
}
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  const s64 j = k_1 + 6;
  if (c) {
    const pred m = mask[j];
    lanes_1[k_1] = k_1 >= 58 ? lanes_1[k_1] + m : lanes_1[k_1];
  }
  lanes_1[k_1] = k_1 >= 58 ? lanes_1[k_1] + x[j] : lanes_1[k_1];
}
sum_of_lanes(lanes_1);
t = t + lanes_1[0];
