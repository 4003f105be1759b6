// A condition becomes a limit.
#pragma omp simd
for (s64 j = 5; j < 100; j++) {
  f32 x;
  if (i < 3) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
// EXPECT
const s64 limit = i < 3 ? 100 : 5;
#pragma omp simd
for (s64 j = 5; j < 100; j++) {
  f32 x;
  if (j < limit) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
