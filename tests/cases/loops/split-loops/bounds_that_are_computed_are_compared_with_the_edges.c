// Bounds that are computed are compared with the edges.
for (s64 i = first; i < last; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    f32 y;
    if (i < 3) {
      const f32 a_1 = a[i * 9 + j];
      y = a_1;
    } else {
      const f32 b_1 = b[i * 9 + j];
      y = b_1;
    }
    z[j] = z[j] + y;
  }
}
// EXPECT
const s64 bound = last < 3 ? last : 3;
for (s64 i_1 = first; i_1 < bound; i_1++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    const f32 a_2 = a[i_1 * 9 + j];
    const f32 y_1 = a_2;
    z[j] = z[j] + y_1;
  }
}
const s64 bound_1 = first > 3 ? first : 3;
for (s64 i_2 = bound_1; i_2 < last; i_2++) {
  #pragma omp simd
  for (s64 j = 0; j < 9; j++) {
    const f32 b_2 = b[i_2 * 9 + j];
    const f32 y_2 = b_2;
    z[j] = z[j] + y_2;
  }
}
