// A short nest is written out.
// GIVEN: u8 x[], u8 y[]
for (s64 i = 0; i < 900; i++) {
  for (s64 k = 0; k < 2; k++) {
    #pragma omp simd
    for (s64 j = 0; j < 2; j++) {
      y[i * 4 + k * 2 + j] = x[i * 2 + j];
    }
  }
}
// EXPECT
for (s64 i = 0; i < 900; i++) {
  y[i * 4] = x[i * 2];
  y[i * 4 + 1] = x[i * 2 + 1];
  y[i * 4 + 2] = x[i * 2];
  y[i * 4 + 3] = x[i * 2 + 1];
}
