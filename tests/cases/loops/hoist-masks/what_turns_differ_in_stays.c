// What turns differ in stays.
#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const s64 k = b[j];
  f32 x;
  if (j < 3) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
// STAYS

#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const s64 k = b[j];
  f32 x;
  if (k < 3) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
// STAYS

#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const s64 k = b[j];
  f32 x;
  if (i < 3 || k < 2) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
// STAYS

#pragma omp simd
for (s64 j = 0; j < 100; j++) {
  const s64 k = b[j];
  f32 x;
  if ((i < 3 && k < 2)) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
// STAYS
