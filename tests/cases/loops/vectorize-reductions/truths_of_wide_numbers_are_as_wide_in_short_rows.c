// Truths of wide numbers are as wide in short rows. (Of wide numbers.)
pred any = 0;
#pragma omp simd reduction(| : any)
for (s64 j = 0; j < 100; j++) {
  const s32 number = x[j];
  any = any | (number > 3);
}
// EXPECT
pred any = 0;
s32 lanes_1[16];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 16; k_1++) {
  lanes_1[k_1] = 0;
}
for (s64 j_block = 0; j_block < 96; j_block += 16) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 j = j_block + k_1;
    const s32 number = x[j];
    lanes_1[k_1] = lanes_1[k_1] | (number > 3);
  }
}
#pragma omp simd
for (s64 k_1 = 0; k_1 < 16; k_1++) {
  const s64 j = k_1 + 84;
  const s32 number = x[j];
  lanes_1[k_1] = k_1 >= 12 ? lanes_1[k_1] | (number > 3) : lanes_1[k_1];
}
or_of_lanes(lanes_1);
any = any | lanes_1[0];

// Truths of wide numbers are as wide in short rows. (Of bytes.)
pred any = 0;
#pragma omp simd reduction(| : any)
for (s64 j = 0; j < 100; j++) {
  const s8 number = x[j];
  any = any | (number > 3);
}
// EXPECT
pred any = 0;
pred lanes_1[64];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  lanes_1[k_1] = 0;
}
for (s64 j_block = 0; j_block < 64; j_block += 64) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    const s64 j = j_block + k_1;
    const s8 number = x[j];
    lanes_1[k_1] = lanes_1[k_1] | (number > 3);
  }
}
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  const s64 j = k_1 + 36;
  const s8 number = x[j];
  lanes_1[k_1] = k_1 >= 28 ? lanes_1[k_1] | (number > 3) : lanes_1[k_1];
}
or_of_lanes(lanes_1);
any = any | lanes_1[0];

// Truths of wide numbers are as wide in short rows. (Of a long row.)
pred any = 0;
#pragma omp simd reduction(| : any)
for (s64 j = 0; j < 1000; j++) {
  const s32 number = x[j];
  any = any | (number > 3);
}
// EXPECT
pred any = 0;
pred lanes_1[64];
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  lanes_1[k_1] = 0;
}
for (s64 j_block = 0; j_block < 960; j_block += 64) {
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 64; k_1++) {
    const s64 j = j_block + k_1;
    const s32 number = x[j];
    lanes_1[k_1] = lanes_1[k_1] | (number > 3);
  }
}
#pragma omp simd
for (s64 k_1 = 0; k_1 < 64; k_1++) {
  const s64 j = k_1 + 936;
  const s32 number = x[j];
  lanes_1[k_1] = k_1 >= 24 ? lanes_1[k_1] | (number > 3) : lanes_1[k_1];
}
or_of_lanes(lanes_1);
any = any | lanes_1[0];
