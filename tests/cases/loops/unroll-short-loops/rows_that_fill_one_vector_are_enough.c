// Rows that fill one vector are enough.
#pragma parallel
for (s64 i = 0; i < 16; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 2; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
// EXPECT
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  f32 t = 0;
  const f32 v_1 = x[i * 4];
  t = t + v_1;
  const f32 v_2 = x[i * 4 + 1];
  t = t + v_2;
  y[i] = t;
}
