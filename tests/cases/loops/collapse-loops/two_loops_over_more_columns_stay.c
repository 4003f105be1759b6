// Two loops over more columns stay.
// GIVEN: bf16 x[], bf16 y[]
#pragma parallel
for (s64 i = 0; i < 256; i++) {
  for (s64 a = 0; a < 2; a++) {
    const f32 own = load_bf16(x[i * 16 + a]);
    #pragma omp simd
    for (s64 b = 0; b < 16; b++) {
      y[i * 32 + a * 16 + b] = store_bf16(own * load_bf16(x[i * 16 + b]));
    }
  }
}
// STAYS

// GIVEN: bf16 x[], bf16 y[]
#pragma parallel
for (s64 i = 0; i < 256; i++) {
  for (s64 a = 0; a < 99; a++) {
    const f32 own = load_bf16(x[i * 3 + a]);
    #pragma omp simd
    for (s64 b = 0; b < 3; b++) {
      y[i * 297 + a * 3 + b] = store_bf16(own * load_bf16(x[i * 3 + b]));
    }
  }
}
// STAYS
