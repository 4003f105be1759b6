// Sums alone do not alternate with differences.
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i] * y[i];
  const f32 b = a + u[i];
  z[2 * i] = b;
  z[2 * i + 1] = a;
}
// STAYS

// They do in two arrays, of which gcc makes two operations.
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i] * y[i];
  const f32 b = a + u[i];
  const f32 c = a - u[i];
  z[i] = b;
  w[i] = c;
}
// STAYS

// Products outside of lanes are rounded as C says.
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i] * y[i];
  const f32 b = a + u[i];
  const f32 c = a - u[i];
  z[2 * i] = b;
  z[2 * i + 1] = c;
}
// STAYS
