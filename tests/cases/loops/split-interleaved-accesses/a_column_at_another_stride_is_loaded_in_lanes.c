// A column at another stride is loaded in lanes.
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 40; i++) {
  const f32 a = x[i * 31];
  const f32 b = a * a;
  y[i] = b + a;
}
// STAYS

// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  const f32 a = x[i * 8];
  const f32 b = a * a;
  y[i] = b + a;
}
// STAYS

// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 17; i++) {
  const f32 a = x[i * 16];
  const f32 b = a * a;
  y[i] = b + a;
}
// STAYS

// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const f32 a = x[i * 4];
  const f32 b = a * a;
  y[i] = b + a;
}
// STAYS

// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const f32 a = x[i * 1];
  const f32 b = a * a;
  y[i] = b + a;
}
// STAYS
