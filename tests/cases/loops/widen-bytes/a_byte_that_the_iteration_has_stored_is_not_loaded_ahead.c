// A byte that the iteration has stored is not loaded ahead.
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  m[j] = x[j] > 0;
  const pred v = m[j];
  const f32 e = exp_f32(x[j]);
  y[j] = v ? e : 0;
}
// STAYS
