// The rest of a condition is asked.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    f32 y;
    if (i >= 5 && j < 2) {
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
for (s64 i_1 = 0; i_1 < 5; i_1++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    const f32 b_2 = b[i_1 * 9 + j];
    const f32 y_1 = b_2;
    z[j] = z[j] + y_1;
  }
}
for (s64 i_2 = 5; i_2 < 8; i_2++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    f32 y_2;
    if (j < 2) {
      const f32 a_2 = a[i_2 * 9 + j];
      y_2 = a_2;
    } else {
      const f32 b_3 = b[i_2 * 9 + j];
      y_2 = b_3;
    }
    z[j] = z[j] + y_2;
  }
}
