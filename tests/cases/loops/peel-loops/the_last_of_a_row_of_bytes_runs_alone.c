// The last of a row of bytes runs alone.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 128; j++) {
    u8 y;
    if (j < 127) {
      const u8 a_1 = a[i * 128 + j];
      y = a_1;
    } else {
      const u8 b_1 = b[i * 128 + j];
      y = b_1;
    }
    z[i * 128 + j] = y;
  }
}
// EXPECT
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j_1 = 0; j_1 < 127; j_1++) {
    const u8 a_2 = a[i * 128 + j_1];
    const u8 y_1 = a_2;
    z[i * 128 + j_1] = y_1;
  }
  const u8 b_2 = b[i * 128 + 127];
  const u8 y_2 = b_2;
  z[i * 128 + 127] = y_2;
}
