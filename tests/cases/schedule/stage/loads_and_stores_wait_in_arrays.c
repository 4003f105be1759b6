// RUN: [array("f32", "loaded", size=64), loading(loop, {tree("loaded[k]"): tree("x[7 * k]")}), reading(loop, {tree("x[7 * k]"): tree("loaded[k]")})]
for (s64 k = 0; k < 64; k++) {
  y[k] = x[7 * k] + 1;
}
// EXPECT
f32 loaded[64];
for (s64 k = 0; k < 64; k++) {
  loaded[k] = x[k * 7];
}
for (s64 k = 0; k < 64; k++) {
  y[k] = loaded[k] + 1;
}

// RUN: [array("f32", "stored", size=64), reading(loop, {}, {tree("y[7 * k]"): tree("stored[k]")}), storing(loop, {tree("stored[k]"): tree("y[7 * k]")})]
for (s64 k = 0; k < 64; k++) {
  y[7 * k] = x[k] + 1;
}
// EXPECT
f32 stored[64];
for (s64 k = 0; k < 64; k++) {
  stored[k] = x[k] + 1;
}
for (s64 k = 0; k < 64; k++) {
  y[k * 7] = stored[k];
}

// A tile is copied by two loops, which may then be interchanged.
// RUN: [array("f32", "tile", size=63), loading_tile(loop, tree("tile[7 * i + j]"), tree("x[9 * j + i]"))]
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 7; j++) {
    y[7 * i + j] = x[9 * j + i];
  }
}
// EXPECT
f32 tile[63];
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 7; j++) {
    tile[i * 7 + j] = x[j * 9 + i];
  }
}
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 7; j++) {
    y[i * 7 + j] = tile[i * 7 + j];
  }
}

// The copy has the guards before its load, and no others.
// RUN: [array("f32", "waiting", size=9), loading(loop, {tree("waiting[i]"): tree("x[i]")}), loop]
for (s64 i = 0; i < 9; i++) {
  if (i < 5) {
    const f32 a = x[i];
    if (a < 3) {
      y[i] = a;
    }
  }
}
// EXPECT
f32 waiting[9];
for (s64 i = 0; i < 9; i++) {
  if (i < 5) {
    waiting[i] = x[i];
  }
}
for (s64 i = 0; i < 9; i++) {
  if (i < 5) {
    const f32 a = x[i];
    if (a < 3) {
      y[i] = a;
    }
  }
}

// The row's number is computed again in each iteration, as `interchange` leaves it.
// RUN: [array("f32", "waiting", size=9), loading(loop, {tree("waiting[i]"): tree("x[i * 64 + r]")}), loop]
for (s64 i = 0; i < 9; i++) {
  const s64 r = k + block;
  const f32 a = x[i * 64 + r];
  y[i] = a;
}
// EXPECT
f32 waiting[9];
for (s64 i = 0; i < 9; i++) {
  waiting[i] = x[i * 64 + (k + block)];
}
for (s64 i = 0; i < 9; i++) {
  const s64 r = k + block;
  const f32 a = x[i * 64 + r];
  y[i] = a;
}

// What two loops store waits in a tile, which is copied after them.
// RUN: [array("f32", "tile", size=63), storing_tile(loop, tree("tile[7 * i + j]"), tree("y[9 * j + i]"))]
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 7; j++) {
    y[9 * j + i] = x[7 * i + j];
  }
}
// EXPECT
f32 tile[63];
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 7; j++) {
    tile[i * 7 + j] = x[i * 7 + j];
  }
}
for (s64 i = 0; i < 9; i++) {
  for (s64 j = 0; j < 7; j++) {
    y[j * 9 + i] = tile[i * 7 + j];
  }
}
