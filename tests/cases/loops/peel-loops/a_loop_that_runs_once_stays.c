// A loop that runs once stays.
#pragma omp simd
for (s64 j = 0; j < 128; j++) {
  u8 y;
  if (j < 127) {
    const u8 a_1 = a[i * 128 + j];
    y = a_1;
  } else {
    const u8 b_1 = b[i * 128 + j];
    y = b_1;
  }
  z[i * 128 + j] = y;
}
// STAYS
