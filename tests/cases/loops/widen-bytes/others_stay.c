// Whole vectors of bytes leave nothing over.
#pragma omp simd
for (s64 j = 0; j < 64; j++) {
  const pred v = m[j];
  const f32 e = exp_f32(x[j]);
  y[j] = v ? e : 0;
}
// STAYS

// A short function takes no time one by one.
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  const pred v = m[j];
  y[j] = v ? -x[j] : 0;
}
// STAYS

// What a long loop leaves over is little.
#pragma omp simd
for (s64 j = 0; j < 5000; j++) {
  const pred v = m[j];
  const f32 e = exp_f32(x[j]);
  y[j] = v ? e : 0;
}
// STAYS
