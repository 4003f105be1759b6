// Values from before the loop are handed over.
// GIVEN: f32 x[], const f32 y[]
const f32 scale = y[0];
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 2048; i++) {
  x[i] = scale;
}
// EXPECT
const f32 scale = y[0];
hlo_parallel(kernel_part, &(struct kernel_part){x, scale}, 1, 1);
