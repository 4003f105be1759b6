// A later iteration may store the same element again.
for (s64 i = 0; i < 1000; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  #pragma omp simd
  for (s64 j = 7; j < 9; j++) {
    y[i * 10 + j] = exp_f32(x[j - 7]);
  }
}
// STAYS
