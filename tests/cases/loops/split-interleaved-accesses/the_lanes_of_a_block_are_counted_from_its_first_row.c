// The lanes of a block are counted from its first row.
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  const s64 j = block + i;
  const f32 a = x[j * 64];
  const f32 b = a * a;
  y[j] = b + a;
}
// EXPECT
f32 column[16];
for (s64 i = 0; i < 16; i++) {
  column[i] = x[(block + i) * 64];
}
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  const s64 j_1 = block + i;
  const f32 a_1 = column[i];
  const f32 b_1 = a_1 * a_1;
  y[j_1] = b_1 + a_1;
}
