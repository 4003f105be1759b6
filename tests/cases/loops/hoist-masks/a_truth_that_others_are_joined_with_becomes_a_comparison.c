// A truth that others are joined with becomes a comparison.
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const pred d = b[j];
  const pred e = c | d;
}
// EXPECT
const s64 limit = c ? 100 : 0;
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const pred d = b[j];
  const pred e = (j < limit) | d;
}
