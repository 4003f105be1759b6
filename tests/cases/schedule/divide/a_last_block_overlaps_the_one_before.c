// Storing the same twice does no harm where nothing that is stored is read.
// RUN: overlap(body, loop, 4)
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i] + 1;
}
// EXPECT
for (s64 i = 0; i < 8; i++) {
  y[i] = x[i] + 1;
}
for (s64 i = 6; i < 10; i++) {
  y[i] = x[i] + 1;
}

// RUN: overlap(body, loop, 4)
for (s64 i = 0; i < 10; i++) {
  x[i] = x[i] + 1;
}
// REFUSED: the load of x[i] may see the store to x[i] when it is repeated

// RUN: overlap(body, loop, 16)
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
}
// REFUSED: the loop over i is not known to fill a block of 16
