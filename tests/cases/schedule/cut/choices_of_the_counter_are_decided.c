// Each range knows which side of the choice it takes.
// RUN: cut(body, loop, [3])
for (s64 i = 0; i < 8; i++) {
  if (i < 3) {
    y[i] = a[i];
  } else {
    y[i] = b[i - 3];
  }
}
// EXPECT
for (s64 i_1 = 0; i_1 < 3; i_1++) {
  y[i_1] = a[i_1];
}
for (s64 i_2 = 3; i_2 < 8; i_2++) {
  y[i_2] = b[i_2 - 3];
}

// A range of few iterations is no loop.
// RUN: cut(body, loop, [1, 7])
for (s64 i = 0; i < 8; i++) {
  if (i >= 1 && i < 7) {
    y[i] = a[i];
  }
}
// EXPECT
for (s64 i_1 = 1; i_1 < 7; i_1++) {
  y[i_1] = a[i_1];
}

// A choice stays where the counter turns it inside of a range.
// RUN: cut(body, loop, [5])
for (s64 i = 0; i < 8; i++) {
  if (i >= 3 && i < 5) {
    y[i] = a[i];
  }
}
// EXPECT
for (s64 i_1 = 0; i_1 < 5; i_1++) {
  if (i_1 >= 3) {
    y[i_1] = a[i_1];
  }
}
for (s64 i_2 = 5; i_2 < 8; i_2++) {
}

// Bounds that are not known are compared with the counts.
// RUN: cut(body, loop, [3])
for (s64 i = 0; i < n; i++) {
  if (i < 3) {
    y[i] = a[i];
  }
}
// EXPECT
const s64 bound = n < 3 ? n : 3;
for (s64 i_1 = 0; i_1 < bound; i_1++) {
  y[i_1] = a[i_1];
}
for (s64 i_2 = 3; i_2 < n; i_2++) {
}

// RUN: cut(body, loop, [3])
for (s64 i = 0; i < 8; i++) {
  if (x[i] > 3) break;
  y[i] = x[i];
}
// REFUSED: an iteration of the loop over i may be the last one
