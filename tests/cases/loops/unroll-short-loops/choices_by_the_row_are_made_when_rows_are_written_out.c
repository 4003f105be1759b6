// Choices by the row are made when rows are written out.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 2; j++) {
    f32 v;
    if (j < 1) {
      const f32 u = x[i];
      v = u;
    } else {
      v = z[i] + 1.0f;
    }
    t = t + v;
  }
  y[i] = t;
}
// EXPECT
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  const f32 u_1 = x[i];
  const f32 v_1 = u_1;
  t = t + v_1;
  const f32 v_2 = z[i] + 1.0f;
  t = t + v_2;
  y[i] = t;
}
