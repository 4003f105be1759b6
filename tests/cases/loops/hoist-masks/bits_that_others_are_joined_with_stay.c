// Bits that others are joined with stay.
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const s32 d = b[j];
  const s32 e = c | d;
}
// STAYS
