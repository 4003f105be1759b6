// What lanes share is added to each place.
// GIVEN: const u8 t[256]
for (s64 j = 0; j < 5; j++) {
  #pragma omp simd
  for (s64 i = 0; i < 20; i++) {
    const s32 place = x[i];
    const u8 found = t[j * 9 + place + 1];
    y[i] = found;
  }
}
// EXPECT
for (s64 j = 0; j < 5; j++) {
  s32 places[20];
  u8 looked_up[20];
  #pragma omp simd
  for (s64 i = 0; i < 20; i++) {
    const s32 place_1 = x[i];
    places[i] = place_1;
  }
  for (s64 k_1 = 0; k_1 < 20; k_1 += 4) {
    const u8 found_1 = t[j * 9 + 1 + places[k_1]];
    const u8 found_2 = t[j * 9 + 1 + places[k_1 + 1]];
    const u8 found_3 = t[j * 9 + 1 + places[k_1 + 2]];
    const u8 found_4 = t[j * 9 + 1 + places[k_1 + 3]];
    looked_up[k_1] = found_1;
    looked_up[k_1 + 1] = found_2;
    looked_up[k_1 + 2] = found_3;
    looked_up[k_1 + 3] = found_4;
  }
  #pragma omp simd
  for (s64 i = 0; i < 20; i++) {
    const u8 found_5 = looked_up[i];
    y[i] = found_5;
  }
}
