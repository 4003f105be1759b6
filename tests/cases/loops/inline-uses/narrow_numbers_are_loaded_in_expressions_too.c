// Narrow numbers are loaded in expressions too.
// GIVEN: f32 y[], const bf16 b[]
const f32 a = load_bf16(b[i]);
y[i] = -a;
// EXPECT
y[i] = -load_bf16(b[i]);
