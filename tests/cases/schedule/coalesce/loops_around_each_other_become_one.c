// RUN: coalesce(loop)
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 7; j++) {
    y[7 * i + j] = x[j];
  }
}
// EXPECT
for (s64 i = 0; i < 63; i++) {
  y[i] = x[(i % 7)];
}

// Bounds and steps of any kind; it counts from 0.
// RUN: coalesce(loop, name="all")
for (s64 i = 2; i < 9; i++) {
  for (s64 j = 1; j < 7; j += 2) {
    y[7 * i + j] = x[i];
  }
}
// EXPECT
for (s64 all = 0; all < 21; all++) {
  y[(all / 3) * 7 + (all % 3) * 2 + 15] = x[(all / 3) + 2];
}

// RUN: coalesce(loop)
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i];
  for (s64 j = 0; j < 7; j++) {
    y[7 * i + j] = a;
  }
}
// REFUSED: the loop over i is not around one loop
