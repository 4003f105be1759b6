// A loop in lanes of nothing long stays as it is.
#pragma omp simd
for (s64 i = 0; i < 100003; i++) {
  const f32 y = x[i] + x[i];
}
// STAYS
