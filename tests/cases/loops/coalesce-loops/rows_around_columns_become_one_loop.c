// Rows around columns become one loop.
#pragma fold max : sums
for (s64 i = 0; i < 90; i++) {
  for (s64 j = 0; j < 7; j++) {
    #pragma omp simd
    for (s64 c = 0; c < 3; c++) {
      sums[c] = x[i * 21 + j * 3 + c];
    }
  }
}
// EXPECT
#pragma fold max : sums
for (s64 i = 0; i < 630; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 3; c++) {
    sums[c] = x[i * 3 + c];
  }
}
