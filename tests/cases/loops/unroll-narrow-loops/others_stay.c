// Others stay. (A vector of bytes.)
// GIVEN: u8 x[], u8 y[], s32 places[]
for (s64 i = 0; i < 900; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 8; j++) {
    const s32 place = places[j];
    y[i * 3 + j] = x[i * 3 + place];
  }
}
// STAYS

// Others stay. (Few rows.)
// GIVEN: u8 x[], u8 y[], s32 places[]
for (s64 i = 0; i < 9; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    const s32 place = places[j];
    y[i * 3 + j] = x[i * 3 + place];
  }
}
// STAYS

// Others stay. (Numbers of 32 bits.)
// GIVEN: u8 x[], f32 wide[]
for (s64 i = 0; i < 900; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    wide[i * 3 + j] = x[i * 3 + j];
  }
}
// STAYS

// Others stay.
// GIVEN: u8 x[], u8 y[]
for (s64 i = 0; i < 900; i++) {
  #pragma omp simd reduction(+ : y)
  for (s64 j = 0; j < 3; j++) {
    y[j] = y[j] + x[i * 3 + j];
  }
}
// STAYS

// Others stay. (An array of its own.)
// GIVEN: u8 x[]
for (s64 i = 0; i < 900; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    local[j] = x[i * 3 + j];
  }
}
// STAYS

// Others stay.
// GIVEN: u8 x[], u8 y[]
for (s64 i = 0; i < 900; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    y[i * 3 + j] = store_bf16(load_bf16(x[i * 3 + j]) + 1);
  }
}
// STAYS

// Others stay. (No rows.)
// GIVEN: u8 x[], u8 y[], s32 places[]
#pragma omp simd
for (s64 j = 0; j < 3; j++) {
  const s32 place = places[j];
  y[i * 3 + j] = x[i * 3 + place];
}
// STAYS

// Others stay. (No lanes.)
// GIVEN: u8 x[], u8 y[], s32 places[]
for (s64 i = 0; i < 900; i++) {
  for (s64 j = 0; j < 3; j++) {
    const s32 place = places[j];
    y[i * 3 + j] = x[i * 3 + place];
  }
}
// STAYS
