// Row i reads what row i - 1 has stored one column further on: after it, now before it.
// RUN: unroll_and_jam(body, loop, 2)
for (s64 i = 0; i < 8; i++) {
  for (s64 k = 0; k < 8; k++) {
    y[10 * i + k + 11] = y[10 * i + k + 2];
  }
}
// REFUSED: the load of y[i * 10 + k + 2] may need the store to y[i * 10 + k + 11] in an earlier iteration

// RUN: unroll_and_jam(body, loop, 2)
for (s64 i = 0; i < 8; i++) {
  for (s64 k = 0; k < i; k++) {
    y[9 * i + k] = 0;
  }
}
// REFUSED: the bounds of the loop over k differ for each i

// RUN: unroll_and_jam(body, loop, 2)
for (s64 i = 0; i < 8; i++) {
  if (c) {
    for (s64 k = 0; k < 8; k++) {
      y[9 * i + k] = 0;
    }
  }
}
// REFUSED: a branch is inside of the loop over i
