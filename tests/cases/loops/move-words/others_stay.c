// Others stay.
// GIVEN: c64 y[9], const c64 x[9]
for (s64 i = 0; i < 8; i++) {
  const c64 a = x[i];
  y[i] = a + a;
}
// STAYS

// GIVEN: c64 y[9], const c64 x[9]
for (s64 i = 0; i < 8; i++) {
  y[i] = negate_c64(x[i]);
}
// STAYS

// GIVEN: c64 y[9], const c64 x[9]
for (s64 i = 0; i < 8; i++) {
  const c64 a = x[i];
  const f32 b = real_c64(a);
  y[i] = x[i];
}
// STAYS

// GIVEN: c64 y[9], const c64 x[9]
for (s64 i = 0; i < 8; i++) {
  c64 a;
  a = x[i];
  if (equal_c64(a, a)) {
    y[i] = a;
  }
}
// STAYS

// Others stay. (No complex number.)
// GIVEN: const f32 z[9]
for (s64 i = 0; i < 8; i++) {
  z[i] = z[i] + 1;
}
// STAYS
