// Own memory differs from thread to thread.
// GIVEN: f32 x[], const f32 y[]
f32 *row = (f32 *)own;
f32 *other = (f32 *)(own + 448);
#pragma parallel
#pragma omp simd
for (s64 i = 0; i < 2048; i++) {
  row[0] = y[i];
  x[i] = other[0];
}
// EXPECT
f32 * row = (f32 *)own;
f32 * other = (f32 *)(own + 448);
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 1, 1);
