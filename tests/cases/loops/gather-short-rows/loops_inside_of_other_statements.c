// Loops inside of other statements.
if (c) {
  for (s64 h = 0; h < 3; h++) {
    #pragma parallel
    for (s64 i = 0; i < 96; i++) {
      f32 t = 0;
      #pragma omp simd reduction(+ : t)
      for (s64 j = 0; j < 5; j++) {
        const f32 v = x[i * 5 + j];
        t = t + key(v);
      }
      y[i] = t;
    }
  }
}
// EXPECT
if (c) {
  for (s64 h = 0; h < 3; h++) {
    #pragma parallel
    for (s64 i_block = 0; i_block < 96; i_block += 16) {
      f32 padded[128];
      for (s64 r = 0; r < 16; r++) {
        #pragma omp simd
        for (s64 c_1 = 0; c_1 < 8; c_1++) {
          padded[r * 8 + c_1] = c_1 < 5 ? x[i_block * 5 + r * 5 + c_1] : 0.0f;
        }
      }
      f32 columns[128];
      #pragma omp simd
      for (s64 k_1 = 0; k_1 < 16; k_1++) {
        columns[k_1] = padded[k_1 * 8];
        columns[k_1 + 16] = padded[k_1 * 8 + 1];
        columns[k_1 + 32] = padded[k_1 * 8 + 2];
        columns[k_1 + 48] = padded[k_1 * 8 + 3];
        columns[k_1 + 64] = padded[k_1 * 8 + 4];
        columns[k_1 + 80] = padded[k_1 * 8 + 5];
        columns[k_1 + 96] = padded[k_1 * 8 + 6];
        columns[k_1 + 112] = padded[k_1 * 8 + 7];
      }
      #pragma omp simd
      for (s64 k_1 = 0; k_1 < 16; k_1++) {
        const s64 i = i_block + k_1;
        f32 t = 0;
        const f32 v_1 = columns[k_1];
        t = t + key(v_1);
        const f32 v_2 = columns[k_1 + 16];
        t = t + key(v_2);
        const f32 v_3 = columns[k_1 + 32];
        t = t + key(v_3);
        const f32 v_4 = columns[k_1 + 48];
        t = t + key(v_4);
        const f32 v_5 = columns[k_1 + 64];
        t = t + key(v_5);
        y[i] = t;
      }
    }
  }
}
