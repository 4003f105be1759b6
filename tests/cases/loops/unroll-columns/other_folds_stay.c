// Other folds stay. (Few rows.)
f32 s[3];
#pragma fold + : s
for (s64 i = 0; i < 20; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 3; c++) {
    const f32 v = x[i * 3 + c];
    s[c] = s[c] + v;
  }
}
// STAYS

// Other folds stay. (Many columns.)
f32 s[7];
#pragma fold + : s
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    const f32 v = x[i * 3 + c];
    s[c] = s[c] + v;
  }
}
// STAYS

// Other folds stay. (One column.)
f32 s[1];
#pragma fold + : s
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 1; c++) {
    const f32 v = x[i * 3 + c];
    s[c] = s[c] + v;
  }
}
// STAYS

// Other folds stay. (Some of an array.)
f32 s[9];
#pragma fold + : s
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 3; c++) {
    const f32 v = x[i * 3 + c];
    s[c] = s[c] + v;
  }
}
// STAYS
