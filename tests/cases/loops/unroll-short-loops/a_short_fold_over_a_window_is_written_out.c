// A short fold over a window is written out.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  for (s64 j = 0; j < 2; j++) {
    #pragma omp simd reduction(+ : t)
    for (s64 l = 0; l < 2; l++) {
      const f32 v = x[i * 4 + j * 2 + l];
      t = t + v;
    }
  }
  y[i] = t;
}
// EXPECT
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  const f32 v_2 = x[i * 4];
  t = t + v_2;
  const f32 v_3 = x[i * 4 + 1];
  t = t + v_3;
  const f32 v_5 = x[i * 4 + 2];
  t = t + v_5;
  const f32 v_6 = x[i * 4 + 3];
  t = t + v_6;
  y[i] = t;
}
