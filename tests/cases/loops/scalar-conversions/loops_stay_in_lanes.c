// Loops stay in lanes.
// GIVEN: f16 x[]
#pragma omp simd
for (s64 i = 0; i < 16; i++) {
  y[i] = narrow_f16(load_f16(x[i]) + load_f16(x[i]));
}
// STAYS

// Loops stay in lanes. (Loads alone.)
// GIVEN: f16 x[]
#pragma omp simd
for (s64 i = 0; i < 7; i++) {
  y[i] = load_f16(x[i]);
}
// STAYS

// Loops stay in lanes.
#pragma omp simd
for (s64 i = 0; i < 7; i++) {
  y[i] = store_f16(1.0f);
}
// STAYS

// Loops stay in lanes. (A long function.)
// GIVEN: f16 x[]
#pragma omp simd
for (s64 i = 0; i < 7; i++) {
  y[i] = store_f16(exp_f32(x[i]));
}
// STAYS

// Loops stay in lanes. (No f16.)
// GIVEN: f32 x[]
#pragma omp simd
for (s64 i = 0; i < 7; i++) {
  y[i] = narrow_f16(load_f16(x[i]) + load_f16(x[i]));
}
// STAYS
