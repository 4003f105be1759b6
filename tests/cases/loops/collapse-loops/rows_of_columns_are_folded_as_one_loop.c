// Rows of columns are folded as one loop.
// GIVEN: f32 x[]
f32 total[7];
#pragma fold sum_of_floats : total
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    total[c] = total[c] + x[i * 7 + c];
  }
}
// EXPECT
f32 total[7];
f32 lanes_1[224];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 224; k_1++) {
  lanes_1[k_1] = -0.0f;
}
for (s64 i_block = 0; i_block < 288; i_block += 32) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 224; k_1++) {
    lanes_1[k_1] = lanes_1[k_1] + x[i_block * 7 + k_1];
  }
}
for (s64 i = 288; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    total[c] = total[c] + x[i * 7 + c];
  }
}
sum_of_columns(lanes_1);
#pragma omp simd
for (s64 c = 0; c < 7; c++) {
  total[c] = total[c] + lanes_1[c];
}
