// Two pieces of a row store one element: the short one of a long function comes first, and must not
// become a loop after the other one.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 2; j++) {
    y[i * 40 + j] = exp_f32(x[j]);
  }
  #pragma omp simd
  for (s64 l = 0; l < 39; l++) {
    y[i * 40 + l + 1] = x[i * 39 + l];
  }
}
// STAYS

// Pieces that store no element both are apart.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 2; j++) {
    y[i * 40 + j] = exp_f32(x[j]);
  }
  #pragma omp simd
  for (s64 l = 0; l < 38; l++) {
    y[i * 40 + l + 2] = x[i * 38 + l];
  }
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 l = 0; l < 38; l++) {
    y[i * 40 + l + 2] = x[i * 38 + l];
  }
}
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  y[i * 40] = exp_f32(x[0]);
  y[i * 40 + 1] = exp_f32(x[1]);
}
