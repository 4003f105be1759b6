// A literal of 64 bits is divided by in lanes.
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = remainder_unsigned_u64(x[i], 77ull);
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = lane_remainder_u64(x[i], 77ull);
}

#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = divide_signed_s64(x[i], -3ll);
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = lane_quotient_s64(x[i], -3ll);
}
