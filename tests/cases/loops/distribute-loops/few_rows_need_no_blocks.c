// Few rows need no blocks.
for (s64 i = 0; i < 7; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 32; j++) {
    s = s + x[i * 32 + j];
  }
  const f32 l = log_f32(s);
  y[i] = l;
}
// EXPECT
f32 s_of_rows[7];
for (s64 i = 0; i < 7; i++) {
  f32 s_1 = 0.0;
  #pragma fold + : s_1
  for (s64 j = 0; j < 32; j++) {
    s_1 = s_1 + x[i * 32 + j];
  }
  s_of_rows[i] = s_1;
}
#pragma omp simd
for (s64 i = 0; i < 7; i++) {
  const f32 l_1 = log_f32(s_of_rows[i]);
  y[i] = l_1;
}
