// Each rounding has a loop after what it rounds.
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  const f32 w = narrow_f16(v * v);
  y[i + 7] = store_f16(w + v);
}
// EXPECT
f32 widened[112];
load_each_f16(widened, x, 100);  // work 800
f32 rounded_1[112];
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  const f32 v_1 = widened[i];
  rounded_1[i] = v_1 * v_1;
}
narrow_each_f16(rounded_1, rounded_1, 100);  // work 800
f32 rounded_2[112];
#pragma omp simd
for (s64 i = 0; i < 100; i++) {
  const f32 v_2 = widened[i];
  const f32 w_1 = rounded_1[i];
  rounded_2[i] = w_1 + v_2;
}
store_each_f16(y + 7, rounded_2, 100);  // work 800
