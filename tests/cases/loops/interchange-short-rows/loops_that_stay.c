// Loops that stay. (Few rows.)
// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 60; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 9; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 9 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 9; j++) {
    const f32 w = x[i * 9 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// STAYS

// Loops that stay.
// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 4; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 5 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 4; j++) {
    const f32 w = x[i * 5 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// STAYS

// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 17; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 17 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 17; j++) {
    const f32 w = x[i * 17 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// STAYS

// Loops that stay. (Whole vectors.)
// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 16 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 16; j++) {
    const f32 w = x[i * 16 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// STAYS

// Loops that stay. (Taken apart.)
// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 9; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 3 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 9; j++) {
    const f32 w = x[i * 3 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// STAYS

// Loops that stay. (An array with a value.)
// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t[4] = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 9; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 9 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 9; j++) {
    const f32 w = x[i * 9 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// STAYS
