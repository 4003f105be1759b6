// Columns are stored after the loop.
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 130; i++) {
  y[i * 5] = x[i];
  y[i * 5 + 1] = x[i] * x[i];
}
// EXPECT
for (s64 i_block = 0; i_block < 128; i_block += 64) {
  f32 column[64];
  f32 column_1[64];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    const s64 i_1 = i_block + k_1;
    column[k_1] = x[i_1];
    column_1[k_1] = x[i_1] * x[i_1];
  }
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    y[(i_block + k_1) * 5] = column[k_1];
    y[(i_block + k_1) * 5 + 1] = column_1[k_1];
  }
}
f32 column_2[2];
f32 column_3[2];
#pragma omp simd
for (s64 k_2 = 0; k_2 < 2; k_2++) {
  const s64 i_2 = k_2 + 128;
  column_2[k_2] = x[i_2];
  column_3[k_2] = x[i_2] * x[i_2];
}
for (s64 k_2 = 0; k_2 < 2; k_2++) {
  y[(k_2 + 128) * 5] = column_2[k_2];
  y[(k_2 + 128) * 5 + 1] = column_3[k_2];
}
