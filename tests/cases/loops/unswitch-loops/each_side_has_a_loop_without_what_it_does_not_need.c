// Each side has a loop without what it does not need.
#pragma omp simd
for (s64 j = 0; j < 200; j++) {
  const f32 x = a[j];
  const f32 y = sine(x);
  b[j] = c ? y : x;
}
// EXPECT
if (c) {
  #pragma omp simd
  for (s64 j = 0; j < 200; j++) {
    const f32 x = a[j];
    const f32 y = sine(x);
    b[j] = y;
  }
} else {
  #pragma omp simd
  for (s64 j = 0; j < 200; j++) {
    const f32 x_1 = a[j];
    b[j] = x_1;
  }
}
