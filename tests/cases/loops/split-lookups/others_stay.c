// Others stay. (In order.)
// GIVEN: const u8 t[256]
#pragma omp simd
for (s64 i = 0; i < 900; i++) {
  const u8 found = t[i];
  y[i] = found;
}
// STAYS

// Others stay. (From a place on.)
// GIVEN: const u8 t[256]
#pragma omp simd
for (s64 i = 0; i < 900; i++) {
  const s32 n = x[0];
  const u8 found = t[i + n];
  y[i] = found;
}
// STAYS

// Others stay. (In a branch.)
// GIVEN: const u8 t[256]
#pragma omp simd
for (s64 i = 0; i < 900; i++) {
  const s32 place = x[i];
  if (place < 3) {
    const u8 found = t[place];
    y[i] = found;
  }
}
// STAYS

// Others stay. (Wide numbers.)
#pragma omp simd
for (s64 i = 0; i < 900; i++) {
  const s32 place = x[i];
  const f32 found = x[place];
  y[i] = found;
}
// STAYS

// Others stay. (Of what is written.)
// GIVEN: const u8 t[256]
#pragma omp simd
for (s64 i = 0; i < 900; i++) {
  const s32 place = x[i];
  const u8 found = t[place];
  t[i] = found;
}
// STAYS
