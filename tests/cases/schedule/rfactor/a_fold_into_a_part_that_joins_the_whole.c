// The part begins with the number that changes no sum.
// RUN: [array("f32", "part", (fold := rfactor(loop, {"total": "f32"}, {"total": tree("part")})).starts["total"]), fold.loop, fold.joined({"total": tree("total")}, {"total": tree("part")})]
#pragma fold + : total
for (s64 i = 0; i < 9; i++) {
  total = total + x[i];
}
// EXPECT
f32 part = -0.0f;
#pragma fold + : part
for (s64 i = 0; i < 9; i++) {
  part = part + x[i];
}
total = total + part;

// RUN: rfactor(loop, {"total": "f32"}, {"total": tree("part")}).loop
#pragma fold + : total
for (s64 i = 0; i < 9; i++) {
  total = total + x[i];
  y[i] = total;
}
// REFUSED: an iteration reads total before all is folded

// Blocks fold into one element: lanes, which only fold, may not do that at once.
// RUN: [array("f32", "parts", None, 1), Assign(tree("parts[0]"), (fold := rfactor(divide(body, vectorize(loop), 4, lambda lane, _: [lane])[0], {"total": "f32"}, {"total": tree("parts[0]")})).starts["total"]), fold.loop, fold.joined({"total": tree("total")}, {"total": tree("parts[0]")})]
#pragma fold + : total
for (s64 i = 0; i < 8; i++) {
  total = total + x[i];
}
// EXPECT
f32 parts[1];
parts[0] = -0.0f;
for (s64 i_block = 0; i_block < 8; i_block += 4) {
  for (s64 k_1 = 0; k_1 < 4; k_1++) {
    const s64 i = i_block + k_1;
    parts[0] = parts[0] + x[i];
  }
}
total = total + parts[0];

// Numbers are dealt to two lanes by turns; each has a part of its own.
// RUN: deal(body, loop, 2, {"total": "f32"})
#pragma fold + : total
for (s64 i = 1; i < 9; i++) {
  total = total + x[i];
}
// EXPECT
#pragma fold + : total
for (s64 lane = 0; lane < 2; lane++) {
  f32 total_1 = -0.0f;
  #pragma fold + : total_1
  for (s64 i = 1 + lane; i < 9; i += 2) {
    total_1 = total_1 + x[i];
  }
  total = total + total_1;
}

// The end must be known before.
// RUN: deal(body, loop, 2, {"total": "f32"})
#pragma fold + : total
for (s64 i = 0; i < 9; i += 3) {
  total = total + x[i];
}
// REFUSED: the loop over i does not count by 1 to one number
