// A column at a power of two is loaded before a loop that computes.
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 40; i++) {
  const f32 a = x[i * 32];
  const f32 b = a * a;
  y[i] = b + a;
}
// EXPECT
f32 column[40];
for (s64 i = 0; i < 40; i++) {
  column[i] = x[i * 32];
}
#pragma omp simd
for (s64 i = 0; i < 40; i++) {
  const f32 a_1 = column[i];
  const f32 b_1 = a_1 * a_1;
  y[i] = b_1 + a_1;
}

// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  const f32 a = x[i * 64];
  const f32 b = a * a;
  y[i] = b + a;
}
// EXPECT
f32 column[16];
for (s64 i = 0; i < 16; i++) {
  column[i] = x[i * 64];
}
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  const f32 a_1 = column[i];
  const f32 b_1 = a_1 * a_1;
  y[i] = b_1 + a_1;
}

// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  const f32 a = x[i * 16];
  const f32 b = a * a;
  y[i] = b + a;
}
// EXPECT
f32 column[16];
for (s64 i = 0; i < 16; i++) {
  column[i] = x[i * 16];
}
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  const f32 a_1 = column[i];
  const f32 b_1 = a_1 * a_1;
  y[i] = b_1 + a_1;
}
