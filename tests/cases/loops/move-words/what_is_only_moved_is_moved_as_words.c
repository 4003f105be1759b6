// What is only moved is moved as words.
// GIVEN: c64 y[9], const c64 x[9]
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const c64 a = x[8 - i];
  y[i] = a;
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  const u64 a = x[-i * 1 + 8];
  y[i] = a;
}

// Words are chosen.
// GIVEN: c64 y[9], const c64 x[9]
for (s64 i = 0; i < 8; i++) {
  c64 a;
  if (z[i] > 0) {
    a = x[i];
  } else {
    a = x[i + 1];
  }
  y[i] = a;
}
// EXPECT
for (s64 i = 0; i < 8; i++) {
  u64 a;
  if (z[i] > 0) {
    a = x[i];
  } else {
    a = x[i + 1];
  }
  y[i] = a;
}
