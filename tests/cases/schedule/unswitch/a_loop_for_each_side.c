// RUN: unswitch(body, loop, tree("c"))
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i];
  y[i] = c ? sine(a) : a;
}
// EXPECT
if (c) {
  for (s64 i = 0; i < 9; i++) {
    const f32 a = x[i];
    y[i] = sine(a);
  }
} else {
  for (s64 i = 0; i < 9; i++) {
    const f32 a_1 = x[i];
    y[i] = a_1;
  }
}

// RUN: unswitch(body, loop, tree("c[i]"))
for (s64 i = 0; i < 9; i++) {
  y[i] = c[i] ? x[i] : 0;
}
// REFUSED: the condition may differ between iterations over i
