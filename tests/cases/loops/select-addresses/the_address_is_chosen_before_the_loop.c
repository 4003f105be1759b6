// The address is chosen before the loop.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    f32 v;
    if (i < 2) {
      const f32 a = x[i * 100 + j + 600];
      v = a;
    } else {
      const f32 b = x[i * 100 + j + -200];
      v = b;
    }
    y[j] = v;
  }
}
// EXPECT
for (s64 i = 0; i < 8; i++) {
  const s64 offset = i < 2 ? 600 : -200;
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    const f32 v = x[i * 100 + j + offset];
    y[j] = v;
  }
}

// Offsets may hold rows.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    f32 v;
    if (i < 2) {
      const f32 a = x[i * 100 + j];
      v = a;
    } else {
      const f32 b = x[j];
      v = b;
    }
    y[j] = v;
  }
}
// EXPECT
for (s64 i = 0; i < 8; i++) {
  const s64 offset = i < 2 ? i * 100 : 0;
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    const f32 v = x[j + offset];
    y[j] = v;
  }
}

// Choices inside of choices become offsets, too.
for (s64 i = 0; i < 8; i++) {
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    f32 w;
    if (i < 5) {
      f32 v;
      if (i < 2) {
        const f32 a = x[i * 100 + j];
        v = a;
      } else {
        const f32 b = x[i * 100 + j + 1];
        v = b;
      }
      w = v;
    } else {
      const f32 c = x[i * 100 + j + 2];
      w = c;
    }
    y[j] = w;
  }
}
// EXPECT
for (s64 i = 0; i < 8; i++) {
  const s64 offset = i < 2 ? 0 : 1;
  const s64 offset_1 = i < 5 ? offset : 2;
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    const f32 w = x[i * 100 + j + offset_1];
    y[j] = w;
  }
}
