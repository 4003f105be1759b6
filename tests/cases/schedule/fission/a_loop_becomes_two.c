// The first computes a value, and the second reads it where it waits.
// RUN: [array("s32", "places", size=64), fission(loop, loop.body[:1], [], {"a": tree("places[k]")})]
for (s64 k = 0; k < 64; k++) {
  const s32 a = x[k];
  y[k] = a + z[k];
}
// EXPECT
s32 places[64];
for (s64 k = 0; k < 64; k++) {
  const s32 a = x[k];
  places[k] = a;
}
for (s64 k = 0; k < 64; k++) {
  y[k] = places[k] + z[k];
}

// The store need not wait for the second loop, and the load is repeated there.
// RUN: fission(loop, loop.body[:2], loop.body[:1], {})
for (s64 k = 0; k < 64; k++) {
  const s32 a = x[k];
  y[k] = a;
  z[k] = a + 1;
}
// EXPECT
for (s64 k = 0; k < 64; k++) {
  const s32 a = x[k];
  y[k] = a;
}
for (s64 k = 0; k < 64; k++) {
  const s32 a = x[k];
  z[k] = a + 1;
}

// Its two halves, for a value without a name.
// RUN: [array("s32", "places", size=64), fresh(body, computed(loop, {tree("places[k]"): tree("x[k]")})), reading(loop, {tree("x[k]"): tree("places[k]")})]
for (s64 k = 0; k < 64; k++) {
  y[k] = x[k] + z[k];
}
// EXPECT
s32 places[64];
for (s64 k = 0; k < 64; k++) {
  places[k] = x[k];
}
for (s64 k = 0; k < 64; k++) {
  y[k] = places[k] + z[k];
}
