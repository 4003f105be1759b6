// Pieces that share something stay in one loop. (It is read.)
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  #pragma omp simd
  for (s64 j = 7; j < 9; j++) {
    y[i * 10 + j] = exp_f32(x[j - 7]);
  }
  x[i] = z[i];
}
// STAYS

// Pieces that share something stay in one loop. (It is written.)
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  #pragma omp simd
  for (s64 j = 7; j < 9; j++) {
    y[i * 10 + j] = exp_f32(x[j - 7]);
  }
  z[i] = y[i];
}
// STAYS

// Pieces that share something stay in one loop.
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  #pragma omp simd
  for (s64 j = 7; j < 9; j++) {
    y[i * 10 + j] = exp_f32(x[j - 7]);
  }
  f32 t = 0;
  z[i] = t;
}
// STAYS

#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  #pragma omp simd
  for (s64 j = 7; j < 9; j++) {
    y[i * 10 + j] = exp_f32(x[j - 7]);
  }
  if (x[i] > 0) {
    z[i] = x[i];
  }
}
// STAYS
