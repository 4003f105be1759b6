// No plain sum stays.
f32 s = 0;
for (s64 i = 0; i < 1048576; i++) {
  s = s + s;
}
// STAYS

f32 s = 0;
for (s64 i = 0; i < 1048576; i++) {
  s = s + x[i];
  s = s * x[i];
}
// STAYS

f32 s = 0;
for (s64 i = 0; i < 1048576; i++) {
  if (s > 1) {
    s = s + x[i];
  }
}
// STAYS
