// Small loops and unmarked loops stay.
// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 200; i++) {
  x[i] = y[i] + 1;
}
// STAYS

// GIVEN: f32 x[], const f32 y[]
#pragma omp simd
for (s64 i = 0; i < 2048; i++) {
  x[i] = y[i] + 1;
}
// STAYS

// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 1; i++) {
  #pragma omp simd
  for (s64 i = 0; i < 2048; i++) {
    x[i] = y[i] + 1;
  }
}
// STAYS
