// Loops that stay. (Few rows.)
#pragma parallel
for (s64 i = 0; i < 60; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 5; j++) {
    const f32 v = x[i * 5 + j];
    t = t + key(v);
  }
  y[i] = t;
}
// STAYS

// Loops that stay.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 17; j++) {
    const f32 v = x[i * 17 + j];
    t = t + key(v);
  }
  y[i] = t;
}
// STAYS

// Loops that stay. (Taken apart.)
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 5; j++) {
    const f32 v = x[i * 4 + j];
    t = t + key(v);
  }
  y[i] = t;
}
// STAYS

// Loops that stay.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 v = x[i * 8 + j];
    t = t + key(v);
  }
  y[i] = t;
}
// STAYS

// Loops that stay. (Two bytes.)
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 5; j++) {
    const bf16 v = x[i * 5 + j];
    t = t + key(v);
  }
  y[i] = t;
}
// STAYS

// Loops that stay.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 5; j++) {
    const f32 v = x[i * 5 + j];
    t = t + v;
  }
  y[i] = t;
}
// STAYS

// Loops that stay. (Long functions.)
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 9; j++) {
    const f32 v = x[i * 9 + j];
    t = t + exp_f32(log_f32(v));
  }
  y[i] = t;
}
// STAYS

// Loops that stay. (One byte.)
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 5; j++) {
    const pred v = x[i * 5 + j];
    t = t + key(v);
  }
  y[i * 5] = t;
}
// STAYS
