// Others stay as they are.
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = lane_remainder_u32(x[i], own);
}
// STAYS

for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = lane_remainder_u32(x[i], y);
}
// STAYS

#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = lane_remainder_u64(x[i], y);
}
// STAYS

#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = remainder_unsigned_u32(x[i], 77u);
}
// STAYS

#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = remainder_unsigned_u64(x[i], 64ull);
}
// STAYS

#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = divide_signed_s64(x[i], -8ll);
}
// STAYS

for (s64 i = 0; i < 64; i++) {
  const u32 own = x[i];
  r[i] = divide_signed_s64(x[i], 77ll);
}
// STAYS
