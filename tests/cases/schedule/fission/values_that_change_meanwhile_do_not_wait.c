// RUN: computed(loop, {tree("waiting[i]"): tree("a")})
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i + 1];
  x[i + 2] = a;
}
// REFUSED: the load of x[i + 1] may need the store to x[i + 2] in an earlier iteration

// The second loop would load what the first one has stored.
// RUN: fission(loop, loop.body[:2], loop.body[:1], {})
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i];
  x[i] = z[i];
  y[i] = a;
}
// REFUSED: the store to x[i] may need the load of x[i] in the same iteration

// RUN: fission(loop, loop.body[:1], [], {})
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i];
  y[i] = a;
}
// REFUSED: a value that the second loop reads does not wait for it

// The second loop would end there, but the first one has then stored too much.
// RUN: fission(loop, loop.body[:1], [], {})
for (s64 i = 0; i < 9; i++) {
  x[i] = z[i];
  if (z[i] > 3) break;
  y[i] = z[i];
}
// REFUSED: an iteration of the loop over i may be the last one

// The second iteration would store there before the value of the first one is read.
// RUN: computed(loop, {tree("waiting[i / 2]"): tree("x[i]")})
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// REFUSED: the store to waiting[(i >> 1)] in two iterations may be to one element
