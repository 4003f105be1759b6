// Others. (From the fifth on.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 5; j < 48; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 5; j < 37; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
  #pragma omp simd
  for (s64 j = 32; j < 48; j++) {
    const f32 v_1 = x[j] + x[j + 2];
    y[i * 43 + j] = v_1;
  }
}

// Others.
// GIVEN: f64 d[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 47; j++) {
    d[j] = 1.0;
  }
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 40; j++) {
    d[j] = 1.0;
  }
  #pragma omp simd
  for (s64 j = 39; j < 47; j++) {
    d[j] = 1.0;
  }
}
