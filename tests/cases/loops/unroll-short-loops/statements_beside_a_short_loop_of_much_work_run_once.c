// Changing places with a short loop would run what is beside it once for each of its iterations: a
// row that is changed in place would change three times.
#pragma parallel
for (s64 i = 0; i < 128; i++) {
  const f32 a = x[i];
  x[i] = a + 1.0f;
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    const f32 b = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(w[j] + a)))));
    const f32 c = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(b)))));
    y[i * 3 + j] = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(c)))));
  }
}
// STAYS

// What follows the short loop would come before it.
#pragma parallel
for (s64 i = 0; i < 128; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 3; j++) {
    const f32 b = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(w[j] + x[i])))));
    const f32 c = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(b)))));
    y[i * 3 + j] = exp_f32(exp_f32(exp_f32(exp_f32(exp_f32(c)))));
  }
  z[i] = y[i * 3];
}
// STAYS
