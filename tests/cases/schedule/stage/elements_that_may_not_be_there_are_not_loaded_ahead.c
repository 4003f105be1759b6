// Of `x[5]` no iteration asks, so that it may lie outside of its array.
// RUN: loading(loop, {tree("waiting[i]"): tree("x[i]")})
for (s64 i = 0; i < 9; i++) {
  y[i] = i < 5 ? x[i] : 0;
}
// REFUSED: x[i] is not loaded in each iteration

// RUN: loading(loop, {tree("waiting[i]"): tree("x[i]")})
for (s64 i = 0; i < 9; i++) {
  if (i < 5) {
    y[i] = x[i];
  } else {
    y[i] = 0;
  }
}
// REFUSED: x[i] is not loaded in each iteration

// RUN: loading(loop, {tree("waiting[i]"): tree("x[i]")})
for (s64 i = 0; i < 9; i++) {
  if (i < 5) {
    y[i] = x[i];
  }
  z[i] = 0;
}
// REFUSED: x[i] is not loaded in each iteration

// A store that is read again does not wait for the end of the loop.
// RUN: storing(loop, {tree("waiting[i]"): tree("y[i]")})
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
  z[i] = y[i];
}
// REFUSED: the load of y[i] may need the store to y[i] in the same iteration

// Nor does one that the next iteration loads to compute what it stores there.
// RUN: storing(loop, {tree("waiting[i]"): tree("y[5]")})
for (s64 i = 0; i < 9; i++) {
  y[5] = y[5] + x[i];
}
// REFUSED: the load of y[5] may need the store to y[5] in an earlier iteration
