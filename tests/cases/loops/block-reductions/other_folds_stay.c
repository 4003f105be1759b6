// There is no neutral element: 0 + -0 is 0.
c64 s = 0.0f;
#pragma omp simd reduction(+ : s)
for (s64 i = 0; i < 300; i++) {
  s = s + x[i];
}
// STAYS

// It is not known where the variable is.
#pragma omp simd reduction(+ : s)
for (s64 i = 0; i < 300; i++) {
  s = s + x[i];
}
// STAYS

// Each iteration reads the sum of those before it.
f32 s = 0.0f;
#pragma omp simd reduction(+ : s)
for (s64 i = 0; i < 300; i++) {
  s = s + x[i];
  y[i] = s;
}
// STAYS

// There is too little work.
f32 s = 0.0f;
#pragma omp simd reduction(+ : s)
for (s64 i = 0; i < 30; i++) {
  s = s + x[i];
}
// STAYS
