// A choice is written out.
// GIVEN: u8 x[], u8 y[]
for (s64 i = 0; i < 900; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    u8 c;
    if (j + n < 3) {
      c = x[i * 3 + j + n];
    } else {
      c = x[i * 3 + j + n - 3];
    }
    y[i * 3 + j] = c;
  }
}
// EXPECT
for (s64 i = 0; i < 900; i++) {
  u8 c_1;
  if (0 + n < 3) {
    c_1 = x[i * 3 + n];
  } else {
    c_1 = x[i * 3 + n - 3];
  }
  y[i * 3] = c_1;
  u8 c_2;
  if (1 + n < 3) {
    c_2 = x[i * 3 + 1 + n];
  } else {
    c_2 = x[i * 3 + 1 + n - 3];
  }
  y[i * 3 + 1] = c_2;
  u8 c_3;
  if (2 + n < 3) {
    c_3 = x[i * 3 + 2 + n];
  } else {
    c_3 = x[i * 3 + 2 + n - 3];
  }
  y[i * 3 + 2] = c_3;
}
