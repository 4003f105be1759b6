// The value moves into the inner loop.
// RUN: interchange(loop)
for (s64 i = 0; i < 9; i++) {
  const f32 a = x[i];
  for (s64 j = 0; j < 3; j++) {
    y[i + 9 * j] = a + j;
  }
}
// EXPECT
for (s64 j = 0; j < 3; j++) {
  for (s64 i = 0; i < 9; i++) {
    const f32 a = x[i];
    y[i + j * 9] = a + j;
  }
}

// So does a guard.
// RUN: interchange(loop)
for (s64 i = 0; i < 8; i++) {
  if (c[i] < 3) {
    for (s64 j = 0; j < 3; j++) {
      y[9 * j + i] = x[i];
    }
  }
}
// EXPECT
for (s64 j = 0; j < 3; j++) {
  for (s64 i = 0; i < 8; i++) {
    if (c[i] < 3) {
      y[j * 9 + i] = x[i];
    }
  }
}

// The inner loop's bounds read a name, and the outer loop's none: this was an error.
// RUN: interchange(loop)
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < n; j++) {
    y[9 * j + i] = x[j];
  }
}
// EXPECT
for (s64 j = 0; j < n; j++) {
  for (s64 i = 0; i < 9; i++) {
    y[j * 9 + i] = x[j];
  }
}

// The innermost of three loops becomes the outermost.
// RUN: reorder(loop, ["k", "i"])
for (s64 i = 0; i < 4; i++) {
  for (s64 j = 0; j < 3; j++) {
    for (s64 k = 0; k < 2; k++) {
      y[6 * i + 2 * j + k] = x[k];
    }
  }
}
// EXPECT
for (s64 k = 0; k < 2; k++) {
  for (s64 i = 0; i < 4; i++) {
    for (s64 j = 0; j < 3; j++) {
      y[i * 6 + j * 2 + k] = x[k];
    }
  }
}
