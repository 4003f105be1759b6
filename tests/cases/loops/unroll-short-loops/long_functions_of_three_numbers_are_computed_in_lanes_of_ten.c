// Long functions of three numbers are computed in lanes of ten.
#pragma parallel
for (s64 j = 0; j < 10; j++) {
  #pragma omp simd
  for (s64 k = 0; k < 3; k++) {
    y[j * 6 + k] = sine_f32(x[k - 0] * z[j]);
  }
  #pragma omp simd
  for (s64 k = 3; k < 6; k++) {
    y[j * 6 + k] = cosine_f32(x[k - 3] * z[j]);
  }
}
// EXPECT
#pragma parallel
#pragma omp simd
for (s64 j = 0; j < 10; j++) {
  y[j * 6] = sine_f32(x[0] * z[j]);
  y[j * 6 + 1] = sine_f32(x[1] * z[j]);
  y[j * 6 + 2] = sine_f32(x[2] * z[j]);
  y[j * 6 + 3] = cosine_f32(x[0] * z[j]);
  y[j * 6 + 4] = cosine_f32(x[1] * z[j]);
  y[j * 6 + 5] = cosine_f32(x[2] * z[j]);
}
