// A load is the same in and after a choice, and the first element is always there.
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  f32 y;
  if (j < 3) {
    const f32 a = x[i * 9 + j];
    y = a + 1;
  } else {
    const f32 b = n[0];
    y = b;
  }
  const f32 c = x[i * 9 + j];
  z[j] = y + c;
}
// EXPECT
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  f32 y;
  const f32 b = n[0];
  const f32 c = x[i * 9 + j];
  if (j < 3) {
    y = c + 1;
  } else {
    y = b;
  }
  z[j] = y + c;
}

// The first element is loaded before a choice; what two choices load is loaded once.
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  f32 y;
  if (j < 3) {
    const f32 a = x[i * 9 + j];
    y = a + 1;
  } else {
    const f32 b = n[0];
    y = b;
  }
  if (j < 2) {
    const f32 d = n[0];
    y = d * 2;
  }
  z[j] = y;
}
// EXPECT
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  f32 y;
  const f32 b = n[0];
  if (j < 3) {
    const f32 a = x[i * 9 + j];
    y = a + 1;
  } else {
    y = b;
  }
  if (j < 2) {
    y = b * 2;
  }
  z[j] = y;
}

// An index that is known after the choice only is used there.
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  f32 y;
  if (j < 3) {
    const f32 a = x[i * 9 + j];
    y = a + 1;
  } else {
    y = 2;
  }
  const s64 k = y * 2;
  const f32 c = x[k];
  z[j] = c;
}
// STAYS

// What is stored after the choice is loaded after that.
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  f32 y;
  if (j < 3) {
    const f32 a = x[i * 9 + j];
    y = a + 1;
  } else {
    y = 2;
  }
  x[j] = y;
  const f32 c = x[i * 9 + j];
  z[j] = c;
}
// STAYS

// What a variable was before is no load.
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  f32 y = 0;
  const f32 old = y;
  y = old + x[j];
  if (j < 3) {
    const f32 now = y;
    y = now * 2;
  }
  z[j] = y;
}
// STAYS

// What is stored before a choice is loaded again.
#pragma omp simd
for (s64 j = 0; j < 9; j++) {
  const f32 old = x[j];
  x[j] = old + 1;
  if (j < 3) {
    const f32 now = x[j];
    z[j] = now;
  }
}
// STAYS
