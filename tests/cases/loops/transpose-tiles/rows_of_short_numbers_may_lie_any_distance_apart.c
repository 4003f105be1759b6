// Rows of short numbers may lie any distance apart.
for (s64 i = 0; i < 16; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 16; j++) {
    const u16 v = x[j * 100 + i];
    y[i * 64 + j] = v;
  }
}
// EXPECT
u16 padded[256];
for (s64 j = 0; j < 16; j++) {
  #pragma omp simd
  for (s64 i = 0; i < 16; i++) {
    padded[j * 16 + i] = x[j * 100 + i];
  }
}
u16 columns[256];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 16; k_1++) {
  columns[k_1] = padded[k_1 * 16];
  columns[k_1 + 16] = padded[k_1 * 16 + 1];
  columns[k_1 + 32] = padded[k_1 * 16 + 2];
  columns[k_1 + 48] = padded[k_1 * 16 + 3];
  columns[k_1 + 64] = padded[k_1 * 16 + 4];
  columns[k_1 + 80] = padded[k_1 * 16 + 5];
  columns[k_1 + 96] = padded[k_1 * 16 + 6];
  columns[k_1 + 112] = padded[k_1 * 16 + 7];
  columns[k_1 + 128] = padded[k_1 * 16 + 8];
  columns[k_1 + 144] = padded[k_1 * 16 + 9];
  columns[k_1 + 160] = padded[k_1 * 16 + 10];
  columns[k_1 + 176] = padded[k_1 * 16 + 11];
  columns[k_1 + 192] = padded[k_1 * 16 + 12];
  columns[k_1 + 208] = padded[k_1 * 16 + 13];
  columns[k_1 + 224] = padded[k_1 * 16 + 14];
  columns[k_1 + 240] = padded[k_1 * 16 + 15];
}
for (s64 i = 0; i < 16; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 16; j++) {
    const u16 v = columns[i * 16 + j];
    y[i * 64 + j] = v;
  }
}
