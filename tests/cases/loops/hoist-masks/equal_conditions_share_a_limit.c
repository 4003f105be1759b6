// Equal conditions share a limit.
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  f32 x;
  if (i < 3) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
  f32 y;
  if (i < 3) {
    const f32 y_1 = a[y];
    y = y_1;
  } else {
    y = 0;
  }
}
// EXPECT
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
  f32 y;
  if (j < limit) {
    const f32 y_1 = a[y];
    y = y_1;
  } else {
    y = 0;
  }
}
