// Loads stand in expressions and results where they are stored.
// GIVEN: f32 y[], const f32 x[]
const f32 a = x[i];
const f32 c = x[j + 1];
const f32 s = a + c;
y[i] = s;
// EXPECT
y[i] = x[i] + x[j + 1];
