// Each column has a variable.
f32 s[2];
#pragma fold + : s
for (s64 i = 0; i < 100; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 2; c++) {
    const f32 v = x[i * 3 + c];
    s[c] = s[c] + v;
  }
}
// EXPECT
f32 s[2];
f32 s_1 = s[0];
f32 s_2 = s[1];
#pragma omp simd reduction(+ : s_1) reduction(+ : s_2)
for (s64 i = 0; i < 100; i++) {
  const f32 v_1 = x[i * 3];
  s_1 = s_1 + v_1;
  const f32 v_2 = x[i * 3 + 1];
  s_2 = s_2 + v_2;
}
s[0] = s_1;
s[1] = s_2;
