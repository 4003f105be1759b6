// A mask of 64 bits is one of few lanes; the sum of both counters fits into 32.
for (s64 block = 0; block < 50; block++) {
  #pragma omp simd
  for (s64 i = 0; i < 49; i++) {
    if (block + i + 1 < 64) {
      y[block + i] = 1;
    }
    if (i / 7 >= 3) {
      z[block + i] = 2;
    }
  }
}
// EXPECT
for (s64 block = 0; block < 50; block++) {
  #pragma omp simd
  for (s64 i = 0; i < 49; i++) {
    if ((s32)(block + i + 1) < 64) {
      y[block + i] = 1;
    }
    if ((s32)(s64)((s32)i / 7) >= 3) {
      z[block + i] = 2;
    }
  }
}

// The last of these sums is the largest number of 32 bits.
#pragma omp simd
for (s64 i = 0; i < 2147483647; i++) {
  if (i + 1 < 64) {
    y[i] = 1;
  }
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 2147483647; i++) {
  if ((s32)(i + 1) < 64) {
    y[i] = 1;
  }
}
