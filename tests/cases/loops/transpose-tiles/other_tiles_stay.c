// Other tiles stay. (No power of two.)
for (s64 i = 0; i < 16; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[j * 100 + i];
    y[i * 64 + j] = v;
  }
}
// STAYS

// Other tiles stay.
for (s64 i = 0; i < 16; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[j * 8 + i];
    y[i * 64 + j] = v;
  }
}
// STAYS

// Other tiles stay. (Half a tile.)
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[j * 128 + i];
    y[i * 64 + j] = v;
  }
}
// STAYS
