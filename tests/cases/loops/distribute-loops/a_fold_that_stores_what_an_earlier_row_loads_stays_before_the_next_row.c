// A fold that stores what an earlier row loads stays before the next row.
for (s64 i = 0; i < 128; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 r = 0; r < 32; r++) {
    z[i * 32 + r] = x[i * 32 + r];
    s = s + x[i * 32 + r];
  }
  const f32 l = log_f32(s);
  y[i] = l + z[i * 32 + 32];
}
// STAYS
