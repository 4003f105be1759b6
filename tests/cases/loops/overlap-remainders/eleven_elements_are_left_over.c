// Eleven elements are left over.
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 43; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 32; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
  #pragma omp simd
  for (s64 j = 27; j < 43; j++) {
    const f32 v_1 = x[j] + x[j + 2];
    y[i * 43 + j] = v_1;
  }
}
