// Three columns of masked loads are stored after the loop.
// GIVEN: f32 x[], f32 y[]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  f32 a0;
  if (i < 0) {
    a0 = x[i * 3 + 0];
  } else {
    a0 = 0;
  }
  y[i * 3 + 0] = a0;
  f32 a1;
  if (i < 1) {
    a1 = x[i * 3 + 1];
  } else {
    a1 = 0;
  }
  y[i * 3 + 1] = a1;
  f32 a2;
  if (i < 2) {
    a2 = x[i * 3 + 2];
  } else {
    a2 = 0;
  }
  y[i * 3 + 2] = a2;
}
// EXPECT
f32 column[9];
f32 column_1[9];
f32 column_2[9];
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  f32 a0_1;
  if (i < 0) {
    a0_1 = x[i * 3];
  } else {
    a0_1 = 0;
  }
  column[i] = a0_1;
  f32 a1_1;
  if (i < 1) {
    a1_1 = x[i * 3 + 1];
  } else {
    a1_1 = 0;
  }
  column_1[i] = a1_1;
  f32 a2_1;
  if (i < 2) {
    a2_1 = x[i * 3 + 2];
  } else {
    a2_1 = 0;
  }
  column_2[i] = a2_1;
}
for (s64 i = 0; i < 9; i++) {
  y[i * 3] = column[i];
  y[i * 3 + 1] = column_1[i];
  y[i * 3 + 2] = column_2[i];
}
