// Lanes run in blocks where blocks fill the loop.
// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 1048576; i++) {
  x[i] = exp_f32(y[i]);
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 256, 6);

// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 1000000; i++) {
  x[i] = exp_f32(y[i]);
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 250, 6);

// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 1572864; i++) {
  x[i] = exp_f32(y[i]);
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 384, 6);

// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 1000001; i++) {
  x[i] = exp_f32(y[i]);
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 1000001, 29127);
