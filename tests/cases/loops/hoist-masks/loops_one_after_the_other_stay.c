// Loops one after the other stay.
for (s64 j = 0; j < 100; j++) {
  f32 x;
  if (i < 3) {
    const f32 x_1 = a[x];
    x = x_1;
  } else {
    x = 0;
  }
}
// STAYS
