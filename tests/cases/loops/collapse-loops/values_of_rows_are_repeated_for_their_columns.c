// Values of rows are repeated for their columns.
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  const f32 a = x[i];
  const f32 b = a + a;
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = exp_f32(n - b);
  }
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 288; i_block += 32) {
  f32 tile[224];
  for (s64 row = 0; row < 32; row++) {
    const s64 i_1 = i_block + row;
    const f32 a_1 = x[i_1];
    const f32 b_1 = a_1 + a_1;
    #pragma omp simd
    for (s64 c = 0; c < 7; c++) {
      tile[row * 7 + c] = b_1;
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 224; k_1++) {
    y[i_block * 7 + k_1] = exp_f32(n - tile[k_1]);
  }
}
#pragma parallel
for (s64 i = 288; i < 300; i++) {
  const f32 a = x[i];
  const f32 b = a + a;
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = exp_f32(n - b);
  }
}

// So is an element that the loop writes: each row reads its own.
// GIVEN: f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  const f32 a = y[i * 7];
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    const f32 e = exp_f32(n);
    y[i * 7 + c] = a;
  }
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 288; i_block += 32) {
  f32 tile[224];
  for (s64 row = 0; row < 32; row++) {
    const s64 i_1 = i_block + row;
    const f32 a_1 = y[i_1 * 7];
    #pragma omp simd
    for (s64 c = 0; c < 7; c++) {
      tile[row * 7 + c] = a_1;
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 224; k_1++) {
    const f32 e = exp_f32(n);
    y[i_block * 7 + k_1] = tile[k_1];
  }
}
#pragma parallel
for (s64 i = 288; i < 300; i++) {
  const f32 a = y[i * 7];
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    const f32 e = exp_f32(n);
    y[i * 7 + c] = a;
  }
}
