// Nine of 41 iterations would be left over, and run one by one.
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  const pred v = m[j * 3];
  const f32 e = exp_f32(x[j]);
  y[j] = v ? e : 0;
}
// EXPECT
s32 wide[41];
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  wide[j] = m[j * 3];
}
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  const s32 v = wide[j];
  const f32 e = exp_f32(x[j]);
  y[j] = v ? e : 0;
}

// Numbers of 16 bits as well.
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  const s16 v = m[j];
  const f32 e = exp_f32(x[j]);
  y[j] = v > 3 ? e : 0;
}
// EXPECT
s32 wide[41];
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  wide[j] = m[j];
}
#pragma omp simd
for (s64 j = 0; j < 41; j++) {
  const s32 v = wide[j];
  const f32 e = exp_f32(x[j]);
  y[j] = v > 3 ? e : 0;
}
