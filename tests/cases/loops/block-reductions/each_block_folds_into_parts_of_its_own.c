// Two sums of an array in blocks that threads share; then the parts are added up, in their order.
// GIVEN: const f32 x[]
f32 s = 0.0f;
f32 q = 0.0f;
#pragma omp simd reduction(+ : s) reduction(+ : q)
for (s64 i = 0; i < 300; i++) {
  s = s + x[i];
  q = q + x[i] * x[i];
}
y[0] = s;
y[1] = q;
// EXPECT
f32 s = 0.0f;
f32 q = 0.0f;
f32 parts[9];
f32 parts_1[9];
#pragma parallel
for (s64 block = 0; block < 9; block++) {
  const s64 first = block * 34;
  const s64 last = first + 34 < 300 ? first + 34 : 300;
  f32 part = -0.0f;
  f32 part_1 = -0.0f;
  #pragma trips 34
  #pragma omp simd reduction(+ : part) reduction(+ : part_1)
  for (s64 i = first; i < last; i++) {
    part = part + x[i];
    part_1 = part_1 + x[i] * x[i];
  }
  parts[block] = part;
  parts_1[block] = part_1;
}
for (s64 block_1 = 0; block_1 < 9; block_1++) {
  s = s + parts[block_1];
  q = q + parts_1[block_1];
}
y[0] = s;
y[1] = q;

// Columns that are added up side by side: each block has a row of parts.
// GIVEN: const f32 x[]
f32 sums[5];
#pragma fold + : sums
for (s64 i = 0; i < 60; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 5; j++) {
    sums[j] = sums[j] + x[5 * i + j];
  }
}
y[0] = sums[0];
// EXPECT
f32 sums[5];
f32 parts[20];
#pragma parallel
for (s64 block = 0; block < 4; block++) {
  const s64 first = block * 15;
  const s64 last = first + 15 < 60 ? first + 15 : 60;
  f32 part[5];
  #pragma omp simd
  for (s64 column = 0; column < 5; column++) {
    part[column] = -0.0f;
  }
  #pragma trips 15
  #pragma fold + : part
  for (s64 i = first; i < last; i++) {
    #pragma omp simd
    for (s64 j = 0; j < 5; j++) {
      part[j] = part[j] + x[i * 5 + j];
    }
  }
  #pragma omp simd
  for (s64 column = 0; column < 5; column++) {
    parts[block * 5 + column] = part[column];
  }
}
for (s64 block_1 = 0; block_1 < 4; block_1++) {
  #pragma omp simd
  for (s64 column = 0; column < 5; column++) {
    sums[column] = sums[column] + parts[block_1 * 5 + column];
  }
}
y[0] = sums[0];
