// Choices of many or of no iterations stay.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 128; j++) {
    u8 y;
    if (j < 1 || j < 2) {
      const u8 a_1 = a[i * 128 + j];
      y = a_1;
    } else {
      const u8 b_1 = b[i * 128 + j];
      y = b_1;
    }
    z[i * 128 + j] = y;
  }
}
// STAYS

for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 128; j++) {
    u8 y;
    if (j < 5) {
      const u8 a_1 = a[i * 128 + j];
      y = a_1;
    } else {
      const u8 b_1 = b[i * 128 + j];
      y = b_1;
    }
    z[i * 128 + j] = y;
  }
}
// STAYS

for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 128; j++) {
    u8 y;
    if (i < 5) {
      const u8 a_1 = a[i * 128 + j];
      y = a_1;
    } else {
      const u8 b_1 = b[i * 128 + j];
      y = b_1;
    }
    z[i * 128 + j] = y;
  }
}
// STAYS

for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 128; j++) {
    u8 y;
    if (j < 128) {
      const u8 a_1 = a[i * 128 + j];
      y = a_1;
    } else {
      const u8 b_1 = b[i * 128 + j];
      y = b_1;
    }
    z[i * 128 + j] = y;
  }
}
// STAYS
