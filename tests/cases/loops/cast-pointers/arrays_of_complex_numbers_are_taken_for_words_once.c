// The kernel is given complex numbers still, and moves words: see `move-words`.
// GIVEN: u64 y[9] from c64, const u64 x[9] from c64, f32 z[9]
for (s64 i = 0; i < 9; i++) {
  y[i] = x[8 - i];
  z[i] = 1;
}
// EXPECT
u64 *restrict y_words = (u64 *)y;
const u64 *restrict x_words = (const u64 *)x;
for (s64 i = 0; i < 9; i++) {
  y_words[i] = x_words[-i * 1 + 8];
  z[i] = 1;
}
