// Later passes find what a name stands for by the name alone.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 2; j++) {
    f32 v;
    if (i < 9) {
      const f32 u = x[j];
      v = u;
    } else {
      v = z[i];
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
  f32 v_1;
  if (i < 9) {
    const f32 u_1 = x[0];
    v_1 = u_1;
  } else {
    v_1 = z[i];
  }
  t = t + v_1;
  f32 v_2;
  if (i < 9) {
    const f32 u_2 = x[1];
    v_2 = u_2;
  } else {
    v_2 = z[i];
  }
  t = t + v_2;
  y[i] = t;
}
