// Each sum has a variable of its own; of five rows, two at a time, one is left over.
// RUN: unroll_and_jam(body, loop, 2)
for (s64 i = 0; i < 5; i++) {
  f32 t = 0;
  #pragma fold + : t
  for (s64 k = 0; k < 9; k++) {
    t = t + x[9 * i + k];
  }
  y[i] = t;
}
// EXPECT
for (s64 i = 0; i < 4; i += 2) {
  f32 t_1 = 0;
  f32 t_2 = 0;
  #pragma fold + : t_1
  #pragma fold + : t_2
  for (s64 k = 0; k < 9; k++) {
    t_1 = t_1 + x[i * 9 + k];
    t_2 = t_2 + x[(i + 1) * 9 + k];
  }
  y[i] = t_1;
  y[i + 1] = t_2;
}
f32 t_3 = 0;
#pragma fold + : t_3
for (s64 k = 0; k < 9; k++) {
  t_3 = t_3 + x[k + 36];
}
y[4] = t_3;
