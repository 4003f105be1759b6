// Other loops stay. (Taken apart.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i * 4];
  const f32 b = x[i * 4 + 2];
  y[i] = a + b;
}
// STAYS

// Other loops stay. (Taken whole.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i * 8];
  const f32 b = x[i * 8 + 2];
  y[i] = a + b;
}
// STAYS

// Other loops stay. (One column.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i * 7];
  y[i] = a + a;
}
// STAYS

// Other loops stay. (Loaded in a branch.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i * 7];
  if (a > 0) {
    const f32 b = x[i * 7 + 2];
    y[i] = b;
  }
}
// STAYS

// Other loops stay. (Rows in any order.)
// GIVEN: f32 x[], f32 z[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const s64 n = z[i];
  const f32 a = x[n * 7] + x[n * 7 + 1];
}
// STAYS

// Other loops stay. (An array that is written.)
// GIVEN: f32 z[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = z[i * 7] + z[i * 7 + 1];
  z[i * 7] = a;
}
// STAYS

// Other loops stay. (An array that is read.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  y[i * 7] = x[i];
  y[i * 7 + 1] = y[i * 7];
}
// STAYS

// Other loops stay. (Stored in a branch.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  y[i * 7] = x[i];
  if (x[i] > 0) {
    y[i * 7 + 1] = x[i];
  }
}
// STAYS

// Other loops stay. (Stored twice.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  y[i * 7] = x[i];
  y[i * 7] = x[i] + x[i];
}
// STAYS

// Other loops stay. (Rows further and further apart.)
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i * i * 7] + x[i * i * 7 + 1];
  y[i] = a;
}
// STAYS

// Other loops stay. (An array of its own.)
// GIVEN: f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = w[i * 7] + w[i * 7 + 1];
  y[i] = a;
}
// STAYS
