// Small indices are divided in 32 bits, of which there are vectors, also inside of each other.
#pragma omp simd
for (s64 i = 0; i < 49; i++) {
  y[i] = x[i / 7 * 3] + x[i % 7 + 2] + x[(i / 7 + i) / 10];
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 49; i++) {
  y[i] = x[(s64)((s32)i / 7) * 3] + x[(s64)((s32)i % 7) + 2] + x[(s64)((s32)((s64)((s32)i / 7) + i) / 10)];
}

// So are parts of a sum.
for (s64 k = 0; k < 5; k++) {
  #pragma omp simd
  for (s64 i = 0; i < 49; i++) {
    y[k * 49 + i] = x[k * 7 + i / 7 * -1 + 6];
  }
}
// EXPECT
for (s64 k = 0; k < 5; k++) {
  #pragma omp simd
  for (s64 i = 0; i < 49; i++) {
    y[k * 49 + i] = x[k * 7 + (s64)((s32)i / 7) * -1 + 6];
  }
}
