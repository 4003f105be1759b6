// Other choices stay. (Two arrays.)
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  f32 v;
  if (i < 2) {
    const f32 a = x[j];
    v = a;
  } else {
    const f32 b = z[j];
    v = b;
  }
  y[j] = v;
}
// STAYS

// Other choices stay. (Two strides.)
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  f32 v;
  if (i < 2) {
    const f32 a = x[j];
    v = a;
  } else {
    const f32 b = x[j * 2];
    v = b;
  }
  y[j] = v;
}
// STAYS

// Other choices stay. (The loop's own condition.)
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  f32 v;
  if (j < 2) {
    const f32 a = x[j];
    v = a;
  } else {
    const f32 b = x[i];
    v = b;
  }
  y[j] = v;
}
// STAYS

// Other choices stay. (An array that is written.)
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  f32 v;
  if (i < 2) {
    const f32 a = y[j];
    v = a;
  } else {
    const f32 b = y[j + 100];
    v = b;
  }
  y[j] = v;
}
// STAYS
