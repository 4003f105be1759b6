// RUN: divide(body, loop, 4, same)
for (s64 i = 0; i < n; i++) {
  y[i] = x[i];
}
// REFUSED: the bounds of the loop over i are not known

// A guard compares with the end, which is another number in each iteration here.
// RUN: divide(body, loop, 4, same, tail="guard")
for (s64 i = 0; i < v; i++) {
  const s64 v = x[i];
  y[i] = v;
}
// REFUSED: the loop over i does not count by 1 to one number

// And here it is added up.
// RUN: divide(body, loop, 4, same, tail="guard")
for (s64 i = 0; i < t + 1; i++) {
  const s64 v = x[i];
  t = t + v;
}
// REFUSED: the loop over i does not count by 1 to one number

// RUN: divide(body, loop, 4, same, tail="guard")
for (s64 i = 0; i < n; i += 2) {
  y[i] = x[i];
}
// REFUSED: the loop over i does not count by 1 to one number

// RUN: divide(body, loop, 4, same, tail="guard")
for (s64 i = m; i < n; i += s) {
  y[i] = x[i];
}
// REFUSED: the loop over i does not count by 1 to one number

// RUN: divide(body, loop, 4, same)
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
  if (x[i] > 3) break;
}
// REFUSED: an iteration of the loop over i may be the last one
