// Short pieces of long functions have a loop of their own.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  #pragma omp simd
  for (s64 j = 7; j < 9; j++) {
    y[i * 10 + j] = exp_f32(x[j - 7]);
  }
  const f32 v = x[i];
  y[i * 10 + 9] = v;
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  const f32 v = x[i];
  y[i * 10 + 9] = v;
}
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  y[i * 10 + 7] = exp_f32(x[0]);
  y[i * 10 + 8] = exp_f32(x[1]);
}
