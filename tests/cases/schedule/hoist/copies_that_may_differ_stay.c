// RUN: hoist(loop, 1)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    w[k] = x[i + k];
  }
  for (s64 k = 0; k < 3; k++) {
    y[i + k] = w[k] + i;
  }
}
// REFUSED: i may differ from iteration to iteration

// RUN: hoist(loop, 1)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    w[k] = x[k];
  }
  for (s64 k = 0; k < 3; k++) {
    x[i] = w[k] + i;
  }
}
// REFUSED: x may differ from iteration to iteration

// RUN: hoist(loop, 1)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    w[k] = x[k];
  }
  for (s64 k = 0; k < 3; k++) {
    w[i] = w[k] + i;
  }
}
// REFUSED: w may differ from iteration to iteration

// RUN: hoist(loop, 1)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    w[0] = w[1];
  }
  for (s64 k = 0; k < 3; k++) {
    y[i] = w[k] + i;
  }
}
// REFUSED: w may differ from iteration to iteration

// The loop may not run at all, and would store nothing then.
// RUN: hoist(loop, 1)
for (s64 i = 0; i < n; i++) {
  w[0] = x[0];
}
// REFUSED: the loop over i may have no iteration
