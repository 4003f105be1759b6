// Others are not in lanes already.
// GIVEN: f16 x[]
for (s64 i = 0; i < 64; i++) {
  y[i] = narrow_f16(load_f16(x[i]) + load_f16(x[i]));
}
// EXPECT
for (s64 i = 0; i < 64; i++) {
  y[i] = narrow_one_f16(load_one_f16(x[i]) + load_one_f16(x[i]));
}
