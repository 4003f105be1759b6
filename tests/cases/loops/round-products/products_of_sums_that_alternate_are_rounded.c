// gcc has one operation for a difference and a sum that alternate, and would round b and d not.
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i] * y[i];
  const f32 b = u[i] * v[i];
  const f32 c = x[i] * v[i];
  const f32 d = u[i] * y[i];
  const f32 e = a - b;
  const f32 f = c + d;
  z[2 * i] = e;
  z[2 * i + 1] = f;
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = rounded_f32(x[i] * y[i]);
  const f32 b = u[i] * v[i];
  const f32 c = rounded_f32(x[i] * v[i]);
  const f32 d = rounded_f32(u[i] * y[i]);
  const f32 e = a - b;
  const f32 f = c + d;
  z[i * 2] = e;
  z[i * 2 + 1] = f;
}

// Whatever is computed of complex numbers, their sums are such sums.
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i] * y[i];
  const c64 b = complex_c64(a, a);
  z[i] = b;
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = rounded_f32(x[i] * y[i]);
  const c64 b = complex_c64(a, a);
  z[i] = b;
}
