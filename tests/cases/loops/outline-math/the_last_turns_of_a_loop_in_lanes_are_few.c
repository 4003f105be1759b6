// The last turns of a loop in lanes are few.
#pragma omp simd
for (s64 i = 0; i < 200003; i++) {
  const f32 y = tanh_f32(x[i]);
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 200000; i++) {
  const f32 y = tanh_f32(x[i]);
}
#pragma omp simd
for (s64 i = 200000; i < 200003; i++) {
  const f32 y = hlo_tanh_f32(x[i]);
}
