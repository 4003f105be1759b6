// RUN: hoist(loop, 1)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 64; k++) {
    w[k] = x[7 * k];
  }
  for (s64 k = 0; k < 64; k++) {
    y[64 * i + k] = w[k];
  }
}
// EXPECT
for (s64 k = 0; k < 64; k++) {
  w[k] = x[k * 7];
}
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 64; k++) {
    y[i * 64 + k] = w[k];
  }
}
