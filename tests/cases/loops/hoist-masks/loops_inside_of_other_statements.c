// Loops inside of other statements.
if (c) {
  for (s64 i = 0; i < 5; i++) {
    #pragma omp simd
    for (s64 j = 0; j < 100; j++) {
      f32 x;
      if (i < 3) {
        const f32 x_1 = a[x];
        x = x_1;
      } else {
        x = 0;
      }
    }
  }
}
// EXPECT
if (c) {
  for (s64 i = 0; i < 5; i++) {
    const s64 limit = i < 3 ? 100 : 0;
    #pragma omp simd
    for (s64 j = 0; j < 100; j++) {
      f32 x;
      if (j < limit) {
        const f32 x_1 = a[x];
        x = x_1;
      } else {
        x = 0;
      }
    }
  }
}
