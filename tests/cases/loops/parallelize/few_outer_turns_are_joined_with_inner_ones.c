// Few outer turns are joined with inner ones.
// GIVEN: f32 x[], const f32 y[]
#pragma parallel
for (s64 h = 0; h < 3; h++) {
  #pragma parallel
  for (s64 j = 0; j < 100; j++) {
    #pragma omp simd
    for (s64 i = 0; i < 20; i++) {
      x[i] = y[i] + 1;
    }
  }
}
// EXPECT
hlo_parallel(kernel_part, &(struct kernel_part){x, y}, 300, 25);
