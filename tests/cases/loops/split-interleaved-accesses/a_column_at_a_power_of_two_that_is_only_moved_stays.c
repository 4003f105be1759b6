// A column at a power of two that is only moved stays.
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const f32 a = x[i * 64];
  y[i] = a;
}
// STAYS
