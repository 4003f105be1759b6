// A short loop of much work changes places with blocks of the long one.
#pragma parallel
for (s64 i = 0; i < 150; i++) {
  const f32 a = x[i];
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    const f32 b = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(w[j] + a)))));
    const f32 c = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(b)))));
    y[i * 3 + j] = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(c)))));
  }
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 128; i_block += 64) {
  for (s64 j = 0; j < 3; j++) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 64; k_1++) {
      const s64 i = i_block + k_1;
      const f32 a = x[i];
      const f32 b = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(w[j] + a)))));
      const f32 c = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(b)))));
      y[i * 3 + j] = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(c)))));
    }
  }
}
#pragma parallel
for (s64 i = 128; i < 150; i++) {
  const f32 a = x[i];
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    const f32 b = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(w[j] + a)))));
    const f32 c = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(b)))));
    y[i * 3 + j] = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(c)))));
  }
}
