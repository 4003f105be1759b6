// Long loops are cut into blocks.
#pragma omp simd
for (s64 i = 0; i < 300; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  const f32 w = narrow_f16(v * v);
  y[i] = store_f16(w + v);
}
// EXPECT
for (s64 i_block = 0; i_block < 256; i_block += 256) {
  f32 widened[256];
  load_each_f16(widened, x + i_block, 256);  // work 2048
  f32 rounded_1[256];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 256; k_1++) {
    const f32 v_1 = widened[k_1];
    rounded_1[k_1] = v_1 * v_1;
  }
  narrow_each_f16(rounded_1, rounded_1, 256);  // work 2048
  f32 rounded_2[256];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 256; k_1++) {
    const f32 v_2 = widened[k_1];
    const f32 w_1 = rounded_1[k_1];
    rounded_2[k_1] = w_1 + v_2;
  }
  store_each_f16(y + i_block, rounded_2, 256);  // work 2048
}
f32 widened[48];
load_each_f16(widened, x + 256, 44);  // work 352
f32 rounded_1[48];
#pragma omp simd
for (s64 k_2 = 0; k_2 < 44; k_2++) {
  const f32 v_3 = widened[k_2];
  rounded_1[k_2] = v_3 * v_3;
}
narrow_each_f16(rounded_1, rounded_1, 44);  // work 352
f32 rounded_2[48];
#pragma omp simd
for (s64 k_2 = 0; k_2 < 44; k_2++) {
  const f32 v_4 = widened[k_2];
  const f32 w_2 = rounded_1[k_2];
  rounded_2[k_2] = w_2 + v_4;
}
store_each_f16(y + 256, rounded_2, 44);  // work 352
