// A condition of both kinds is cut.
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  f32 x;
  if (i < 3 && j < 4 && i > 1) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
// EXPECT
const s64 limit = i < 3 && i > 1 ? 100 : 0;
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  f32 x;
  if (j < limit && j < 4) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
