// The last value of a variable needs no name.
// GIVEN: f32 y[], const f32 x[]
f32 total = 0;
for (s64 i = 0; i < 8; i++) {
  total = total + x[i];
}
const f32 sum = total;
y[0] = sum * sum;
// EXPECT
f32 total = 0;
for (s64 i = 0; i < 8; i++) {
  total = total + x[i];
}
y[0] = total * total;

// GIVEN: f32 y[], const f32 x[]
f32 total = 0;
for (s64 i = 0; i < 8; i++) {
  total = total + x[i];
}
const f32 sum = total;
total = 0;
y[0] = sum * sum;
// STAYS
