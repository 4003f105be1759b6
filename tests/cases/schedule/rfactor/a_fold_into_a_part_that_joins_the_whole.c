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
