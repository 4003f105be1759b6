// Lanes run in blocks where blocks fill the loop.
// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 8192; i++) {
  x[i] = exp_f32(y[i]);
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 2, 1);

// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 8000; i++) {
  x[i] = exp_f32(y[i]);
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 2, 1);

// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 8193; i++) {
  x[i] = exp_f32(y[i]);
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 8193, 56);
