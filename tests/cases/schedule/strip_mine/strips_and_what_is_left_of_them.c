// Index arithmetic has the new counters: four neighbours are one vector.
// RUN: strip_mine(body, loop, 4, lambda strip: [strip], "v")
for (s64 i = 0; i < 10; i++) {
  y[2 * i + 1] = x[i];
}
// EXPECT
for (s64 i = 0; i < 3; i++) {
  if (i < 2) {
    for (s64 v = 0; v < 4; v++) {
      y[i * 8 + v * 2 + 1] = x[i * 4 + v];
    }
  } else {
    for (s64 i_1 = 8; i_1 < 10; i_1++) {
      y[i_1 * 2 + 1] = x[i_1];
    }
  }
}

// RUN: strip_mine(body, loop, 5, lambda strip: [strip], "v")
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i / 5];
}
// EXPECT
for (s64 i = 0; i < 2; i++) {
  for (s64 v = 0; v < 5; v++) {
    y[i * 5 + v] = x[i];
  }
}

// RUN: strip_mine(body, loop, 16, lambda strip: [strip], "v")
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
}
// REFUSED: the loop over i is not known to fill a strip of 16
