// What is hardly any work stays.
#pragma omp simd
for (s64 j = 0; j < 200; j++) {
  const f32 x = a[j];
  b[j] = c ? x : 0;
}
// STAYS

// A branch that is foreseen wrongly takes longer than few iterations.
#pragma omp simd
for (s64 j = 0; j < 50; j++) {
  const f32 x = a[j];
  const f32 y = sine(x);
  b[j] = c ? y : x;
}
// STAYS
