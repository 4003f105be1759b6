// Numbers that are stored apart are rounded where they are.
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  y[i * 3] = store_f16(1.0f);
}
// STAYS
