// Loops out of lanes and short ones stay.
// GIVEN: const u8 t[256]
for (s64 i = 0; i < 900; i++) {
  const s32 place = x[i];
  const u8 found = t[place];
  y[i] = found;
}
// STAYS

// GIVEN: const u8 t[256]
#pragma omp simd
for (s64 i = 0; i < 7; i++) {
  const s32 place = x[i];
  const u8 found = t[place];
  y[i] = found;
}
// STAYS
