// A cumulative sum.
f32 s = 0;
for (s64 i = 0; i < 1048576; i++) {
  s = s + x[i];
  y[i] = s;
}
// EXPECT
f32 s = 0;
f64 total = -0.0;
#pragma trips 16384
for (s64 i_run = 0; i_run < 1048576; i_run += 64) {
  #pragma trips 64
  for (s64 i = i_run; i < i_run + 64; i++) {
    s = s + x[i];
    y[i] = (f32)(total + (f64)s);
  }
  total = total + (f64)s;
  s = -0.0f;
}
s = (f32)(total + (f64)s);
