// Inside of loops.
// GIVEN: f32 y[], const f32 x[]
#pragma omp simd
for (s64 i = 0; i < 8; i++) {
  const f32 a = x[i];
  y[i] = a;
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 8; i++) {
  y[i] = x[i];
}
