// What is left of many rows is not few.
for (s64 j = 0; j < 1000; j++) {
  #pragma omp simd
  for (s64 i = 0; i < 41; i++) {
    const f32 y = tanh_f32(x[i]);
  }
}
// STAYS
