// The first part would count on to 40.
// RUN: cut(body, loop, [40])
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// REFUSED: 40 are not counts in order inside of the loop over i

// The last part would do iterations again.
// RUN: cut(body, loop, [7, 2])
for (s64 i = 0; i < 9; i++) {
  y[i] = y[i] + x[i];
}
// REFUSED: 7, 2 are not counts in order inside of the loop over i
