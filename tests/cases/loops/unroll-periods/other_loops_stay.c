// Other loops stay. (A long period.)
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  f32 v;
  if ((i) % 5 == 0) {
    const f32 a = A[i];
    v = a;
  } else {
    const f32 b = B[i];
    v = b;
  }
  y[i] = v;
}
// STAYS

// Other loops stay. (Another counter.)
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  f32 v;
  if ((i + j) % 2 == 0) {
    const f32 a = A[i];
    v = a;
  } else {
    const f32 b = B[i];
    v = b;
  }
  y[i] = v;
}
// STAYS

// Other loops stay. (Few iterations.)
#pragma omp simd
for (s64 i = 0; i < 15; i++) {
  f32 v;
  if ((i) % 2 == 0) {
    const f32 a = A[i];
    v = a;
  } else {
    const f32 b = B[i];
    v = b;
  }
  y[i] = v;
}
// STAYS

// Other loops stay. (No period.)
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  f32 v;
  if (i < 5) {
    const f32 a = A[i];
    v = a;
  } else {
    const f32 b = B[i];
    v = b;
  }
  y[i] = v;
}
// STAYS
