// Lookups are a loop of their own.
// GIVEN: const u8 t[256]
#pragma omp simd
for (s64 i = 0; i < 22; i++) {
  const s32 place = x[i];
  const u8 found = t[place];
  y[i] = found + place;
}
// EXPECT
s32 places[22];
u8 looked_up[22];
#pragma omp simd
for (s64 i = 0; i < 22; i++) {
  const s32 place_1 = x[i];
  places[i] = place_1;
}
for (s64 k_1 = 0; k_1 < 20; k_1 += 4) {
  const u8 found_1 = t[places[k_1]];
  const u8 found_2 = t[places[k_1 + 1]];
  const u8 found_3 = t[places[k_1 + 2]];
  const u8 found_4 = t[places[k_1 + 3]];
  looked_up[k_1] = found_1;
  looked_up[k_1 + 1] = found_2;
  looked_up[k_1 + 2] = found_3;
  looked_up[k_1 + 3] = found_4;
}
const u8 found_5 = t[places[20]];
const u8 found_6 = t[places[21]];
looked_up[20] = found_5;
looked_up[21] = found_6;
#pragma omp simd
for (s64 i = 0; i < 22; i++) {
  const s32 place_2 = x[i];
  const u8 found_7 = looked_up[i];
  y[i] = found_7 + place_2;
}
