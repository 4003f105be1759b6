// Other choices stay. (Of the loop's own.)
#pragma omp simd
for (s64 j = 0; j < 200; j++) {
  const pred d = e[j];
  const f32 x = a[j];
  const f32 y = sine(x);
  b[j] = d ? y : x;
}
// STAYS

// Other choices stay. (Of its counter.)
#pragma omp simd
for (s64 j = 0; j < 200; j++) {
  const pred d = e[j];
  const f32 x = a[j];
  const f32 y = sine(x);
  b[j] = j < 3 ? y : x;
}
// STAYS

// Other choices stay. (Of two sides that are as long.)
#pragma omp simd
for (s64 j = 0; j < 200; j++) {
  const pred d = e[j];
  const f32 x = a[j];
  const f32 y = sine(x);
  b[j] = c ? y : sine(y);
}
// STAYS
