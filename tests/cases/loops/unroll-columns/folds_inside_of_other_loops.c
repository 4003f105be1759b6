// Folds inside of other loops.
for (s64 h = 0; h < 5; h++) {
  f32 s[3];
  #pragma fold + : s
  for (s64 i = 0; i < 100; i++) {
    #pragma omp simd
    for (s64 c = 0; c < 3; c++) {
      const f32 v = x[i * 3 + c];
      s[c] = s[c] + v;
    }
  }
}
// EXPECT
for (s64 h = 0; h < 5; h++) {
  f32 s[3];
  f32 s_1 = s[0];
  f32 s_2 = s[1];
  f32 s_3 = s[2];
  #pragma omp simd reduction(+ : s_1) reduction(+ : s_2) reduction(+ : s_3)
  for (s64 i = 0; i < 100; i++) {
    const f32 v_1 = x[i * 3];
    s_1 = s_1 + v_1;
    const f32 v_2 = x[i * 3 + 1];
    s_2 = s_2 + v_2;
    const f32 v_3 = x[i * 3 + 2];
    s_3 = s_3 + v_3;
  }
  s[0] = s_1;
  s[1] = s_2;
  s[2] = s_3;
}
