// Others stay. (Rows apart.)
for (s64 i = 0; i < 90; i++) {
  #pragma omp simd reduction(max : most)
  for (s64 j = 0; j < 7; j++) {
    most = x[i * 9 + j + k + 2];
  }
}
// STAYS

// Others stay. (Long rows.)
for (s64 i = 0; i < 90; i++) {
  #pragma omp simd reduction(max : most)
  for (s64 j = 0; j < 70; j++) {
    most = x[i * 70 + j + k + 2];
  }
}
// STAYS

// Others stay. (A counter alone.)
for (s64 i = 0; i < 90; i++) {
  #pragma omp simd reduction(max : most)
  for (s64 j = 0; j < 7; j++) {
    most = x[i * 7 + j + k + 2];
    y[j] = most;
  }
}
// STAYS

// Others stay. (No fold.)
for (s64 i = 0; i < 90; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 7; j++) {
    most = x[i * 7 + j + k + 2];
  }
}
// STAYS
