// A loop of few iterations calls what one of many inlines.
for (s64 i = 0; i < 100; i++) {
  const f32 y = tanh_f32(x[i]);
}
// EXPECT
for (s64 i = 0; i < 100; i++) {
  const f32 y = hlo_tanh_f32(x[i]);
}

for (s64 i = 0; i < 1048576; i++) {
  const f32 y = tanh_f32(x[i]);
}
// STAYS

for (s64 j = 0; j < 10; j++) {
  for (s64 i = 0; i < 100; i++) {
    const f32 y = tanh_f32(x[i]);
  }
}
// EXPECT
for (s64 j = 0; j < 10; j++) {
  for (s64 i = 0; i < 100; i++) {
    const f32 y = hlo_tanh_f32(x[i]);
  }
}

for (s64 j = 0; j < 512; j++) {
  for (s64 i = 0; i < 512; i++) {
    const f32 y = tanh_f32(x[i]);
  }
}
// STAYS
