// Long functions of more numbers than rows stay in rows.
#pragma parallel
for (s64 j = 0; j < 3; j++) {
  #pragma omp simd
  for (s64 k = 0; k < 3; k++) {
    y[j * 6 + k] = sine_f32(x[k - 0] * z[j]);
  }
  #pragma omp simd
  for (s64 k = 3; k < 6; k++) {
    y[j * 6 + k] = cosine_f32(x[k - 3] * z[j]);
  }
}
// STAYS
