// Complex functions are called by loops of fewer iterations.
#pragma omp simd
for (s64 i = 0; i < 1000; i++) {
  const c64 y = exp_c64(x[i]);
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 1000; i++) {
  const c64 y = hlo_exp_c64(x[i]);
}

#pragma omp simd
for (s64 i = 0; i < 10240; i++) {
  const c64 y = exp_c64(x[i]);
}
// STAYS

#pragma omp simd
for (s64 i = 0; i < 10000; i++) {
  const f32 y = tanh_f32(x[i]);
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 10000; i++) {
  const f32 y = hlo_tanh_f32(x[i]);
}
