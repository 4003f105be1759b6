// RUN: expand(body, loop)
for (s64 i = 0; i < 5; i++) {
  f32 t = 0;
  #pragma fold + : t
  for (s64 k = 0; k < 9; k++) {
    t = t + x[9 * i + k];
  }
  y[i] = t;
}
// EXPECT
f32 t_1[5];
for (s64 i = 0; i < 5; i++) {
  t_1[i] = 0;
  for (s64 k = 0; k < 9; k++) {
    t_1[i] = t_1[i] + x[i * 9 + k];
  }
  y[i] = t_1[i];
}

// RUN: expand(body, loop)
for (s64 i = 0; i < 5; i++) {
  y[i] = x[i];
}
// REFUSED: an iteration of the loop over i declares no number
