// Rows that lie apart are copied.
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 128; i++) {
  f32 own[14];
  for (s64 j = 0; j < 2; j++) {
    #pragma omp simd
    for (s64 c = 0; c < 7; c++) {
      own[j * 7 + c] = x[i * 14 + j * 7 + c];
    }
  }
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    const f32 a = exp_f32(n);
    y[i * 9 + c] = own[c + 7];
  }
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 128; i_block += 32) {
  f32 own[448];
  for (s64 j = 0; j < 2; j++) {
    f32 tile[224];
    for (s64 row = 0; row < 32; row++) {
      const s64 i = i_block + row;
      #pragma omp simd
      for (s64 c = 0; c < 7; c++) {
        tile[row * 7 + c] = x[i * 14 + j * 7 + c];
      }
    }
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 224; k_1++) {
      own[j * 224 + k_1] = tile[k_1];
    }
  }
  f32 tile_1[224];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 224; k_1++) {
    tile_1[k_1] = own[k_1 + 224];
  }
  for (s64 row = 0; row < 32; row++) {
    const s64 i = i_block + row;
    #pragma omp simd
    for (s64 c = 0; c < 7; c++) {
      y[i * 9 + c] = tile_1[row * 7 + c];
    }
  }
}
