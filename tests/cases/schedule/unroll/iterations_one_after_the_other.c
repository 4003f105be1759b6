// Each has names of its own, and makes no choice that its number decides.
// RUN: unroll(body, loop)
for (s64 j = 0; j < 3; j++) {
  const f32 t = x[j];
  if (j < 2) {
    total = total + t;
  }
}
// EXPECT
const f32 t_1 = x[0];
total = total + t_1;
const f32 t_2 = x[1];
total = total + t_2;
const f32 t_3 = x[2];

// Loops inside are unrolled, too.
// RUN: unroll(body, loop)
for (s64 j = 0; j < 2; j++) {
  for (s64 k = 0; k < 2; k++) {
    y[2 * j + k] = x[j];
  }
}
// EXPECT
y[0] = x[0];
y[1] = x[0];
y[2] = x[1];
y[3] = x[1];

// RUN: unroll(body, loop)
for (s64 j = 0; j < n; j++) {
  y[j] = x[j];
}
// REFUSED: the bounds of the loop over j are not known

// Two at a time; the fifth is left over.
// RUN: unroll_by(body, loop, 2, lambda *_: None)
for (s64 i = 0; i < 5; i++) {
  const f32 t = x[i];
  y[i] = t;
}
// EXPECT
for (s64 i_1 = 0; i_1 < 2; i_1++) {
  const f32 t_1 = x[i_1 * 2];
  y[i_1 * 2] = t_1;
  const f32 t_2 = x[i_1 * 2 + 1];
  y[i_1 * 2 + 1] = t_2;
}
const f32 t_3 = x[4];
y[4] = t_3;
