// A row alone is no loop.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    f32 y;
    if (i >= 1) {
      const f32 a_1 = a[i * 9 + j];
      y = a_1;
    } else {
      const f32 b_1 = b[i * 9 + j];
      y = b_1;
    }
    z[j] = z[j] + y;
  }
}
// EXPECT
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  const f32 b_2 = b[j];
  const f32 y_1 = b_2;
  z[j] = z[j] + y_1;
}
for (s64 i_1 = 1; i_1 < 8; i_1++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    const f32 a_2 = a[i_1 * 9 + j];
    const f32 y_2 = a_2;
    z[j] = z[j] + y_2;
  }
}
