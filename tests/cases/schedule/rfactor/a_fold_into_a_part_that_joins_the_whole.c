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
