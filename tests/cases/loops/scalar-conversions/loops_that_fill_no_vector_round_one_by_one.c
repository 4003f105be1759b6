// Loops that fill no vector round one by one.
// GIVEN: f16 x[]
#pragma omp simd
for (s64 i = 0; i < 7; i++) {
  y[i] = store_f16(narrow_f16(load_f16(x[i]) + load_f16(x[i])));
}
// EXPECT
for (s64 i = 0; i < 7; i++) {
  y[i] = store_one_f16(load_one_f16(x[i]) + load_one_f16(x[i]));
}
