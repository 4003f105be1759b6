// Other loops stay as they are. (Half a vector.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 40; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
}
// STAYS

// Other loops stay as they are. (One element.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 33; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
}
// STAYS

// Other loops stay as they are.
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 48; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
}
// STAYS

// Other loops stay as they are. (No vector.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 15; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
}
// STAYS

// Other loops stay as they are. (A long row.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 1003; j++) {
    const f32 v = x[j] + x[j + 2];
    y[i * 43 + j] = v;
  }
}
// STAYS

// Other loops stay as they are. (In place.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 43; j++) {
    y[j] = y[j] + x[j];
  }
}
// STAYS

// Other loops stay as they are. (Two sizes.)
// GIVEN: f32 y[], u8 b[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 43; j++) {
    const f32 v = b[j];
    y[j] = v;
  }
}
// STAYS

// Other loops stay as they are.
// GIVEN: f32 x[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 43; j++) {
    t = t + x[j];
  }
}
// STAYS

// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 43; j++) {
    f32 t;
    if (x[j] > 0) {
      y[j] = t;
    }
  }
}
// STAYS

// Other loops stay as they are. (A long function.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 43; j++) {
    y[j] = exp_f32(x[j]);
  }
}
// STAYS

// Other loops stay as they are. (One row.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 j = 0; j < 43; j++) {
  const f32 v = x[j] + x[j + 2];
  y[i * 43 + j] = v;
}
// STAYS
