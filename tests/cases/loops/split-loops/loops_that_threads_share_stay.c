// Loops that threads share stay.
#pragma parallel
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    f32 y;
    if (i < 3) {
      const f32 a_1 = a[i * 9 + j];
      y = a_1;
    } else {
      const f32 b_1 = b[i * 9 + j];
      y = b_1;
    }
    z[j] = z[j] + y;
  }
}
// STAYS
