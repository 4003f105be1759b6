// A large loop becomes a call.
// GIVEN: f32 x[], const f32 y[]
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 2048; i++) {
  x[i] = y[i] + 1;
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 1, 1);
