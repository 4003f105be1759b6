// A piece that reads what comes to change later in the row stays before that.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
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

// Other statements of a row stay with the pieces that are not short.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  #pragma omp simd
  for (s64 j = 7; j < 9; j++) {
    y[i * 10 + j] = exp_f32(x[j - 7]);
  }
  z[i] = y[i * 10 + 3];
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  z[i] = y[i * 10 + 3];
}
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  y[i * 10 + 7] = exp_f32(x[0]);
  y[i * 10 + 8] = exp_f32(x[1]);
}

#pragma parallel
for (s64 i = 0; i < 100; i++) {
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
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  f32 t = 0;
  z[i] = t;
}
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  y[i * 10 + 7] = exp_f32(x[0]);
  y[i * 10 + 8] = exp_f32(x[1]);
}

#pragma parallel
for (s64 i = 0; i < 100; i++) {
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
// EXPECT
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    y[i * 10 + j] = x[i * 7 + j];
  }
  if (x[i] > 0) {
    z[i] = x[i];
  }
}
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  y[i * 10 + 7] = exp_f32(x[0]);
  y[i * 10 + 8] = exp_f32(x[1]);
}
