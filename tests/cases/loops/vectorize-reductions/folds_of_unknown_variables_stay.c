// Folds of unknown variables stay.
#pragma omp simd reduction(+ : t)
for (s64 j = 0; j < 32; j++) {
  t = t + x[j];
}
// STAYS
