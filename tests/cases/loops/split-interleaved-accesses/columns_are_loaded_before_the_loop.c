// Columns are loaded before the loop.
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i * 7];
  const f32 b = x[i * 7 + 2];
  y[i] = a + b;
}
// EXPECT
f32 column[9];
f32 column_1[9];
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  column[i] = x[i * 7];
}
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  column_1[i] = x[i * 7 + 2];
}
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const f32 a_1 = column[i];
  const f32 b_1 = column_1[i];
  y[i] = a_1 + b_1;
}
