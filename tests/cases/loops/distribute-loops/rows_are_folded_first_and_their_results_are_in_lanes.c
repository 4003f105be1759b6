// Rows are folded first and their results are in lanes.
#pragma parallel
for (s64 i = 0; i < 128; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 32; j++) {
    s = s + x[i * 32 + j];
  }
  const f32 a = w[i];
  const f32 l = a * log_f32(s);
  y[i] = l;
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 128; i_block += 64) {
  f32 s_of_rows[64];
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    const s64 i_1 = i_block + k_1;
    f32 s_1 = 0.0;
    #pragma fold + : s_1
    for (s64 j = 0; j < 32; j++) {
      s_1 = s_1 + x[i_1 * 32 + j];
    }
    s_of_rows[k_1] = s_1;
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    const s64 i_2 = i_block + k_1;
    const f32 a_1 = w[i_2];
    const f32 l_1 = a_1 * log_f32(s_of_rows[k_1]);
    y[i_2] = l_1;
  }
}
