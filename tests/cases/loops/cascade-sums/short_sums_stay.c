// Short sums stay.
f32 s = 0;
for (s64 i = 0; i < 200; i++) {
  s = s + x[i];
}
// STAYS
