// A division by a power of two is a shift.
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  y[i] = x[i / 8];
}
// STAYS

// The last of these indices needs 33 bits.
#pragma omp simd
for (s64 i = 0; i < 2147483650; i++) {
  y[i] = x[i / 7];
}
// STAYS

#pragma omp simd
for (s64 i = 0; i < 2147483648; i++) {
  if (i + 1 < 64) {
    y[i] = 1;
  }
}
// STAYS

// Only loops in lanes ask for vectors.
for (s64 i = 0; i < 49; i++) {
  y[i] = x[i / 7];
}
// STAYS

// The first of these numbers is the least of 32 bits, whose size has 33.
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  if (i - 2147483648 < 64) {
    y[i] = 1;
  }
}
// STAYS
