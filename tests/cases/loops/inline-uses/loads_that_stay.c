// Loads that stay. (What a store may change.)
// GIVEN: f32 y[], const f32 x[]
const f32 a = x[i];
y[0] = 1;
y[i] = a + 1;
// STAYS

// Loads that stay.
// GIVEN: f32 y[], const f32 x[]
const f32 a = x[i];
y[i] = p ? a : 0;
// STAYS

// GIVEN: f32 y[], const f32 x[]
const f32 a = x[i];
y[i] = a * a;
// STAYS

// Loads that stay. (In each iteration.)
// GIVEN: f32 y[], const f32 x[]
const f32 a = x[i];
for (s64 k = 0; k < 4; k++) {
  y[k] = a;
}
// STAYS

// Loads that stay.
// GIVEN: f32 y[], const f32 x[]
const f32 a = x[i];
s32 info = call(x);
y[i] = a;
// STAYS
