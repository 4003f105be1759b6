// What is in branches is seen too.
if (c) {
  for (s64 i = 0; i < 8; i++) {
    const f32 y = tanh_f32(x[i]);
  }
} else {
  const f32 y = tanh_f32(x[i]);
}
// EXPECT
if (c) {
  for (s64 i = 0; i < 8; i++) {
    const f32 y = hlo_tanh_f32(x[i]);
  }
} else {
  const f32 y = hlo_tanh_f32(x[i]);
}
