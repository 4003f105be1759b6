// Columns are written out.
// GIVEN: u8 x[], u8 y[], s32 places[]
for (s64 i = 0; i < 900; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    const s32 place = places[j];
    y[i * 3 + j] = x[i * 3 + place];
  }
}
// EXPECT
for (s64 i = 0; i < 900; i++) {
  const s32 place_1 = places[0];
  y[i * 3] = x[i * 3 + place_1];
  const s32 place_2 = places[1];
  y[i * 3 + 1] = x[i * 3 + place_2];
  const s32 place_3 = places[2];
  y[i * 3 + 2] = x[i * 3 + place_3];
}
