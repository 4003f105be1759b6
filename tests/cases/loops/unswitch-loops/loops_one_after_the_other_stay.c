// Loops one after the other stay.
for (s64 j = 0; j < 200; j++) {
  const f32 x = a[j];
  const f32 y = sine(x);
  b[j] = c ? y : x;
}
// STAYS
