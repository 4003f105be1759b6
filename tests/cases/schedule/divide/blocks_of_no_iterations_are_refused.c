// RUN: divide(body, loop, 0, same)
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// REFUSED: there is no block of 0 iterations

// RUN: divide(body, loop, -3, same)
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// REFUSED: there is no block of -3 iterations

// RUN: divide(body, loop, 2.5, same)
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// REFUSED: there is no block of 2.5 iterations

// RUN: overlap(body, loop, 0)
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// REFUSED: there is no block of 0 iterations

// RUN: divide(body, loop, 4, same, tail="clip")
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// REFUSED: there is no tail `clip`: there are cut, guard, again, min
