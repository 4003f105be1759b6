// Two loops over columns are one.
// GIVEN: bf16 x[], bf16 y[]
#pragma parallel
for (s64 i = 0; i < 256; i++) {
  for (s64 a = 0; a < 2; a++) {
    const f32 own = load_bf16(x[i * 3 + a]);
    #pragma omp simd
    for (s64 b = 0; b < 3; b++) {
      y[i * 6 + a * 3 + b] = store_bf16(own * load_bf16(x[i * 3 + b]));
    }
  }
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 256; i_block += 16) {
  bf16 tile[96];
  for (s64 row = 0; row < 16; row++) {
    const s64 i = i_block + row;
    for (s64 a = 0; a < 2; a++) {
      #pragma omp simd
      for (s64 b = 0; b < 3; b++) {
        tile[row * 6 + a * 3 + b] = x[i * 3 + a];
      }
    }
  }
  bf16 tile_1[96];
  for (s64 row = 0; row < 16; row++) {
    const s64 i = i_block + row;
    for (s64 a = 0; a < 2; a++) {
      #pragma omp simd
      for (s64 b = 0; b < 3; b++) {
        tile_1[row * 6 + a * 3 + b] = x[i * 3 + b];
      }
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 96; k_1++) {
    const f32 own = load_bf16(tile[k_1]);
    y[i_block * 6 + k_1] = store_bf16(own * load_bf16(tile_1[k_1]));
  }
}
