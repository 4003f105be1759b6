// RUN: interchange(loop)
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 8; j++) {
    x[9 * i + j + 8] = x[9 * i + j];
  }
}
// REFUSED: the load of x[i * 9 + j] may need the store to x[i * 9 + j + 8] in an earlier iteration

// A value is not repeated that another iteration of the inner loop would find changed.
// RUN: interchange(loop)
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[3 * i];
  for (s64 j = 0; j < 3; j++) {
    x[3 * i + j] = a;
  }
}
// REFUSED: the load of x[i * 3] may see the store to x[i * 3 + j] when it is repeated

// The guard of the second of these iterations is what the first one has changed.
// RUN: interchange(loop)
for (s64 i = 0; i < 8; i++) {
  if (c[i] < 3) {
    for (s64 j = 0; j < 3; j++) {
      c[i + 1] = x[i];
    }
  }
}
// REFUSED: the load of c[i] may need the store to c[i + 1] in an earlier iteration

// RUN: interchange(loop)
for (s64 i = 0; i < 8; i++) {
  if (c[i] < 3) {
    for (s64 j = 0; j < 3; j++) {
      c[i] = x[i];
    }
  }
}
// REFUSED: the load of c[i] may see the store to c[i] when it is repeated

// `n` has one value in all iterations, but no name outside of them.
// RUN: interchange(loop)
for (s64 i = 0; i < 9; i++) {
  const s64 n = m;
  for (s64 j = 0; j < n; j++) {
    y[9 * j + i] = 0;
  }
}
// REFUSED: the bounds of the loop over j differ for each i

// RUN: interchange(loop)
for (s64 i = 0; i < 9; i++) {
  if (i < 3) {
    const s64 n = m;
    for (s64 j = 0; j < n; j++) {
      y[9 * j + i] = 0;
    }
  }
}
// REFUSED: the bounds of the loop over j are computed in a guard
