// Others stay as they are. (Nothing long.)
for (s64 i = 0; i < 128; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 32; j++) {
    s = s + x[i * 32 + j];
  }
  y[i] = s;
}
// STAYS

// Others stay as they are.
for (s64 i = 0; i < 128; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 32; j++) {
    s = s + x[i * 32 + j];
  }
  const f32 l = log_f32(s);
  x[i] = l;
}
// STAYS

// Others stay as they are. (Changed later.)
for (s64 i = 0; i < 128; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 32; j++) {
    s = s + x[i * 32 + j];
  }
  const f32 l = log_f32(s);
  s = s + 1.0;
  y[i] = l;
}
// STAYS

// Others stay as they are. (No fold.)
for (s64 i = 0; i < 128; i++) {
  const f32 l = log_f32(x[i]);
  y[i] = l;
}
// STAYS

// Others stay as they are. (Needed along the row.)
for (s64 i = 0; i < 128; i++) {
  f32 s = 0.0;
  #pragma fold + : s
  for (s64 j = 0; j < 32; j++) {
    s = s + x[i * 32 + j];
  }
  const f32 l = log_f32(s);
  for (s64 j = 0; j < 9; j++) {
    y[i * 9 + j] = l;
  }
}
// STAYS
