// Even and odd iterations have statements of their own.
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  f32 v;
  if ((i) % 2 == 0) {
    const f32 a = A[i / 2];
    v = a;
  } else {
    const f32 b = B[(i - 1) / 2];
    v = b;
  }
  y[i] = v;
}
// EXPECT
#pragma omp simd
for (s64 i_1 = 0; i_1 < 32; i_1++) {
  const f32 a_1 = A[i_1];
  const f32 v_1 = a_1;
  y[i_1 * 2] = v_1;
  const f32 b_1 = B[i_1];
  const f32 v_2 = b_1;
  y[i_1 * 2 + 1] = v_2;
}

// The first iteration may come before the first multiple.
#pragma omp simd
for (s64 i = 0; i < 64; i++) {
  f32 v;
  if ((i - 1) % 2 == 0) {
    const f32 a = A[i / 2];
    v = a;
  } else {
    const f32 b = B[i];
    v = b;
  }
  y[i] = v;
}
// EXPECT
#pragma omp simd
for (s64 i_1 = 0; i_1 < 32; i_1++) {
  const f32 b_1 = B[i_1 * 2];
  const f32 v_1 = b_1;
  y[i_1 * 2] = v_1;
  const f32 a_1 = A[i_1];
  const f32 v_2 = a_1;
  y[i_1 * 2 + 1] = v_2;
}

// What is left over runs alone.
#pragma omp simd
for (s64 i = 0; i < 50; i++) {
  f32 v;
  if ((i) % 3 == 0) {
    const f32 a = A[i / 3];
    v = a;
  } else {
    const f32 b = B[i];
    v = b;
  }
  y[i] = v;
}
// EXPECT
#pragma omp simd
for (s64 i_1 = 0; i_1 < 16; i_1++) {
  const f32 a_1 = A[i_1];
  const f32 v_1 = a_1;
  y[i_1 * 3] = v_1;
  const f32 b_1 = B[i_1 * 3 + 1];
  const f32 v_2 = b_1;
  y[i_1 * 3 + 1] = v_2;
  const f32 b_2 = B[i_1 * 3 + 2];
  const f32 v_3 = b_2;
  y[i_1 * 3 + 2] = v_3;
}
const f32 a_2 = A[16];
const f32 v_4 = a_2;
y[48] = v_4;
const f32 b_3 = B[49];
const f32 v_5 = b_3;
y[49] = v_5;

// A choice that its range decides is not asked.
#pragma omp simd
for (s64 i = 2; i < 64; i++) {
  f32 v;
  if ((i - 1) % 2 == 0) {
    const f32 a = A[i / 2];
    v = a;
  } else {
    const f32 b = B[i];
    v = b;
  }
  f32 w;
  if (i / 2 < 1) {
    w = v;
  } else {
    w = 0.0f;
  }
  y[i] = w;
}
// EXPECT
#pragma omp simd
for (s64 i_1 = 0; i_1 < 31; i_1++) {
  const f32 b_1 = B[i_1 * 2 + 2];
  const f32 v_1 = b_1;
  const f32 w_1 = 0.0f;
  y[i_1 * 2 + 2] = w_1;
  const f32 a_1 = A[i_1 + 1];
  const f32 v_2 = a_1;
  const f32 w_2 = 0.0f;
  y[i_1 * 2 + 3] = w_2;
}
