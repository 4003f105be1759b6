// No argument is moved as words.
// GIVEN: c64 y[9], const c64 x[9]
for (s64 i = 0; i < 9; i++) {
  y[i] = x[8 - i];
}
// STAYS
