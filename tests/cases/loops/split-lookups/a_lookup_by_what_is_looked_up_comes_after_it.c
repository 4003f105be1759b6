// A lookup by what is looked up comes after it.
// GIVEN: const u8 t[256]
#pragma omp simd
for (s64 i = 0; i < 20; i++) {
  const s32 place = x[i];
  const u8 found = t[place];
  const u8 second = t[found];
  y[i] = second;
}
// EXPECT
s32 places[20];
u8 looked_up[20];
#pragma omp simd
for (s64 i = 0; i < 20; i++) {
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
s32 places_1[20];
u8 looked_up_1[20];
#pragma omp simd
for (s64 i = 0; i < 20; i++) {
  const u8 found_10 = looked_up[i];
  places_1[i] = found_10;
}
for (s64 k_2 = 0; k_2 < 20; k_2 += 4) {
  const u8 found_6 = t[places_1[k_2]];
  const u8 found_7 = t[places_1[k_2 + 1]];
  const u8 found_8 = t[places_1[k_2 + 2]];
  const u8 found_9 = t[places_1[k_2 + 3]];
  looked_up_1[k_2] = found_6;
  looked_up_1[k_2 + 1] = found_7;
  looked_up_1[k_2 + 2] = found_8;
  looked_up_1[k_2 + 3] = found_9;
}
#pragma omp simd
for (s64 i = 0; i < 20; i++) {
  const u8 second_2 = looked_up_1[i];
  y[i] = second_2;
}
