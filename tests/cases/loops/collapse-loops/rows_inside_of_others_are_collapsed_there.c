// Rows inside of others are collapsed there.
// GIVEN: f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma parallel
  for (s64 j = 0; j < 300; j++) {
    #pragma omp simd
    for (s64 c = 0; c < 7; c++) {
      y[i * 2100 + j * 7 + c] = n;
    }
  }
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma parallel
  for (s64 j_block = 0; j_block < 288; j_block += 32) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 224; k_1++) {
      y[i * 2100 + j_block * 7 + k_1] = n;
    }
  }
  #pragma parallel
  for (s64 j = 288; j < 300; j++) {
    #pragma omp simd
    for (s64 c = 0; c < 7; c++) {
      y[i * 2100 + j * 7 + c] = n;
    }
  }
}
