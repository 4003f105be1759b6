// A column at a power of two stays where another keeps the loop from lanes.
// GIVEN: f32 x[], f32 y[], f32 z[]
#pragma omp simd
for (s64 i = 0; i < 40; i++) {
  const s64 p = z[0];
  const f32 c = x[i * 32 + p];
  const f32 b = c * c;
  y[i * 32] = b + c;
}
// STAYS
