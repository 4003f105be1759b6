// A short loop inside of one for threads is cut.
#pragma parallel
for (s64 i = 0; i < 4; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    f32 y;
    if (i < 3) {
      const f32 a_1 = a[i * 9 + j];
      y = a_1;
    } else {
      const f32 b_1 = b[i * 9 + j];
      y = b_1;
    }
    z[j] = z[j] + y;
  }
}
// STAYS

#pragma parallel
for (s64 h = 0; h < 9; h++) {
  #pragma parallel
  for (s64 i = 0; i < 4; i++) {
    #pragma omp simd
    for (s64 j = 0; j < 9; j++) {
      f32 y;
      if (i < 3) {
        const f32 a_1 = a[i * 9 + j];
        y = a_1;
      } else {
        const f32 b_1 = b[i * 9 + j];
        y = b_1;
      }
      z[j] = z[j] + y;
    }
  }
}
// EXPECT
#pragma parallel
for (s64 h = 0; h < 9; h++) {
  #pragma parallel
  for (s64 i_1 = 0; i_1 < 3; i_1++) {
    #pragma omp simd
    for (s64 j = 0; j < 9; j++) {
      const f32 a_2 = a[i_1 * 9 + j];
      const f32 y_1 = a_2;
      z[j] = z[j] + y_1;
    }
  }
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    const f32 b_2 = b[j + 27];
    const f32 y_2 = b_2;
    z[j] = z[j] + y_2;
  }
}

#pragma parallel
for (s64 h = 0; h < 9; h++) {
  #pragma parallel
  for (s64 i = 0; i < 8; i++) {
    #pragma omp simd
    for (s64 j = 0; j < 9; j++) {
      f32 y;
      if (i < 3) {
        const f32 a_1 = a[i * 9 + j];
        y = a_1;
      } else {
        const f32 b_1 = b[i * 9 + j];
        y = b_1;
      }
      z[j] = z[j] + y;
    }
  }
}
// STAYS
