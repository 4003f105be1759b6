// One number for all lanes is not loaded under a mask.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 128; j++) {
    f32 y;
    if (j < 127) {
      const f32 a_1 = a[i * 128];
      y = a_1;
    } else {
      const f32 b_1 = b[i * 128];
      y = b_1;
    }
    z[i * 128 + j] = y;
  }
}
// EXPECT
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j_1 = 0; j_1 < 127; j_1++) {
    const f32 a_2 = a[i * 128];
    const f32 y_1 = a_2;
    z[i * 128 + j_1] = y_1;
  }
  const f32 b_2 = b[i * 128];
  const f32 y_2 = b_2;
  z[i * 128 + 127] = y_2;
}
