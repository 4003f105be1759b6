// A choice of what is left over chooses among the lanes that fold it.
f32 t = 0;
#pragma omp simd reduction(+ : t)
for (s64 j = 0; j < 37; j++) {
  if (m[j]) {
    t = t + x[j];
  } else {
    y[j] = x[j];
  }
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
    if (m[j]) {
      lanes_1[k_1] = lanes_1[k_1] + x[j];
    } else {
      y[j] = x[j];
    }
  }
}
#pragma omp simd
for (s64 k_1 = 0; k_1 < 16; k_1++) {
  const s64 j = k_1 + 21;
  if (m[j]) {
    lanes_1[k_1] = k_1 >= 11 ? lanes_1[k_1] + x[j] : lanes_1[k_1];
  } else {
    y[j] = x[j];
  }
}
sum_of_lanes(lanes_1);
t = t + lanes_1[0];
