// Columns that all rows read are copied once.
// GIVEN: f32 x[], f32 y[], f32 z[]
#pragma parallel
for (s64 i = 0; i < 128; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 3; c++) {
    y[i * 3 + c] = x[i * 3 + c] * z[c];
  }
}
// EXPECT
f32 tile[96];
for (s64 row = 0; row < 32; row++) {
  #pragma omp simd
  for (s64 c = 0; c < 3; c++) {
    tile[row * 3 + c] = z[c];
  }
}
#pragma parallel
for (s64 i_block = 0; i_block < 128; i_block += 32) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 96; k_1++) {
    y[i_block * 3 + k_1] = x[i_block * 3 + k_1] * tile[k_1];
  }
}
