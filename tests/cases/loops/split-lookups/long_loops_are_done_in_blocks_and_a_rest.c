// Long loops are done in blocks and a rest.
// GIVEN: const u8 t[256]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 600; i++) {
  const s32 place = x[i];
  const u8 found = t[place];
  y[i] = found;
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 512; i_block += 256) {
  s32 places[256];
  u8 looked_up[256];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 256; k_1++) {
    const s64 i_1 = i_block + k_1;
    const s32 place_1 = x[i_1];
    places[k_1] = place_1;
  }
  for (s64 k_2 = 0; k_2 < 256; k_2 += 4) {
    const u8 found_1 = t[places[k_2]];
    const u8 found_2 = t[places[k_2 + 1]];
    const u8 found_3 = t[places[k_2 + 2]];
    const u8 found_4 = t[places[k_2 + 3]];
    looked_up[k_2] = found_1;
    looked_up[k_2 + 1] = found_2;
    looked_up[k_2 + 2] = found_3;
    looked_up[k_2 + 3] = found_4;
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 256; k_1++) {
    const s64 i_2 = i_block + k_1;
    const u8 found_5 = looked_up[k_1];
    y[i_2] = found_5;
  }
}
s32 places_1[88];
u8 looked_up_1[88];
#pragma omp simd
for (s64 k_3 = 0; k_3 < 88; k_3++) {
  const s64 i_3 = k_3 + 512;
  const s32 place_2 = x[i_3];
  places_1[k_3] = place_2;
}
for (s64 k_4 = 0; k_4 < 88; k_4 += 4) {
  const u8 found_6 = t[places_1[k_4]];
  const u8 found_7 = t[places_1[k_4 + 1]];
  const u8 found_8 = t[places_1[k_4 + 2]];
  const u8 found_9 = t[places_1[k_4 + 3]];
  looked_up_1[k_4] = found_6;
  looked_up_1[k_4 + 1] = found_7;
  looked_up_1[k_4 + 2] = found_8;
  looked_up_1[k_4 + 3] = found_9;
}
#pragma omp simd
for (s64 k_3 = 0; k_3 < 88; k_3++) {
  const s64 i_4 = k_3 + 512;
  const u8 found_10 = looked_up_1[k_3];
  y[i_4] = found_10;
}
