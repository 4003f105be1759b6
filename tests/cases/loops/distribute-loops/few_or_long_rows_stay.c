// Few or long rows stay.
for (s64 i = 0; i < 3; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 32; j++) {
    s = s + x[i * 32 + j];
  }
  const f32 l = log_f32(s);
  y[i] = l;
}
// STAYS

for (s64 i = 0; i < 128; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 5000; j++) {
    s = s + x[i * 32 + j];
  }
  const f32 l = log_f32(s);
  y[i] = l;
}
// STAYS
