// Other types stay.
// GIVEN: f32 y[], const f32 x[]
const f64 a = x[i];
const f64 c = a * 2;
y[i] = c;
// STAYS
