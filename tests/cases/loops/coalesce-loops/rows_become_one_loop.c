// Rows become one loop.
for (s64 i = 0; i < 90; i++) {
  #pragma omp simd reduction(max : most)
  for (s64 j = 0; j < 7; j++) {
    most = x[i * 7 + j + k + 2];
  }
}
// EXPECT
#pragma omp simd reduction(max : most)
for (s64 i = 0; i < 630; i++) {
  most = x[i + k + 2];
}
