// What is hardly any work stays.
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const f32 x = a[j];
  b[j] = c ? x : 0;
}
// STAYS
