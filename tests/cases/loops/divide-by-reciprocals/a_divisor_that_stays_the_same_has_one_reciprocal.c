// A divisor that stays the same has one reciprocal.
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = lane_remainder_u32(x[i], y);
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = shared_remainder_u32(x[i], y);
}

#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = lane_quotient_s8(x[i], y);
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = shared_quotient_s8(x[i], y);
}
