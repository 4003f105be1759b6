// Rows of half a vector wait for many folds.
// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 8 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 8; j++) {
    const f32 w = x[i * 8 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// STAYS

// GIVEN: const f32 x[], f32 y[], const f32 least[]
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 8 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 8; j++) {
    const f32 w = x[i * 8 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 8 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 8; j++) {
    const f32 w = x[i * 8 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 8 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 8; j++) {
    const f32 w = x[i * 8 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 96; i_block += 16) {
  f32 padded[128];
  for (s64 r = 0; r < 16; r++) {
    #pragma omp simd
    for (s64 c = 0; c < 8; c++) {
      padded[r * 8 + c] = c < 8 ? x[i_block * 8 + r * 8 + c] : 0.0f;
    }
  }
  f32 columns[128];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    columns[k_1] = padded[k_1 * 8];
    columns[k_1 + 16] = padded[k_1 * 8 + 1];
    columns[k_1 + 32] = padded[k_1 * 8 + 2];
    columns[k_1 + 48] = padded[k_1 * 8 + 3];
    columns[k_1 + 64] = padded[k_1 * 8 + 4];
    columns[k_1 + 80] = padded[k_1 * 8 + 5];
    columns[k_1 + 96] = padded[k_1 * 8 + 6];
    columns[k_1 + 112] = padded[k_1 * 8 + 7];
  }
  f32 t[16];
  f32 low[16];
  f32 u[16];
  f32 t[16];
  f32 low[16];
  f32 u[16];
  f32 t[16];
  f32 low[16];
  f32 u[16];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    t[k_1] = 0;
    low[k_1] = least[i];
  }
  for (s64 j = 0; j < 8; j++) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 16; k_1++) {
      const s64 i = i_block + k_1;
      const f32 v = columns[j * 16 + k_1];
      t[k_1] = t[k_1] + exp_f32(exp_f32(v - low[k_1]));
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    u[k_1] = 0;
  }
  for (s64 j = 0; j < 8; j++) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 16; k_1++) {
      const s64 i = i_block + k_1;
      const f32 w = columns[j * 16 + k_1];
      u[k_1] = u[k_1] + exp_f32(exp_f32(w - t[k_1]));
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    y[i] = u[k_1];
    t[k_1] = 0;
    low[k_1] = least[i];
  }
  for (s64 j = 0; j < 8; j++) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 16; k_1++) {
      const s64 i = i_block + k_1;
      const f32 v = columns[j * 16 + k_1];
      t[k_1] = t[k_1] + exp_f32(exp_f32(v - low[k_1]));
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    u[k_1] = 0;
  }
  for (s64 j = 0; j < 8; j++) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 16; k_1++) {
      const s64 i = i_block + k_1;
      const f32 w = columns[j * 16 + k_1];
      u[k_1] = u[k_1] + exp_f32(exp_f32(w - t[k_1]));
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    y[i] = u[k_1];
    t[k_1] = 0;
    low[k_1] = least[i];
  }
  for (s64 j = 0; j < 8; j++) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 16; k_1++) {
      const s64 i = i_block + k_1;
      const f32 v = columns[j * 16 + k_1];
      t[k_1] = t[k_1] + exp_f32(exp_f32(v - low[k_1]));
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    u[k_1] = 0;
  }
  for (s64 j = 0; j < 8; j++) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 16; k_1++) {
      const s64 i = i_block + k_1;
      const f32 w = columns[j * 16 + k_1];
      u[k_1] = u[k_1] + exp_f32(exp_f32(w - t[k_1]));
    }
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    y[i] = u[k_1];
  }
}
#pragma parallel
for (s64 i = 96; i < 100; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 8 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 8; j++) {
    const f32 w = x[i * 8 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 8 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 8; j++) {
    const f32 w = x[i * 8 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 8; j++) {
    const f32 low = least[i];
    const f32 v = x[i * 8 + j];
    t = t + exp_f32(exp_f32(v - low));
  }
  f32 u = 0;
  #pragma omp simd reduction(+ : u)
  for (s64 j = 0; j < 8; j++) {
    const f32 w = x[i * 8 + j];
    u = u + exp_f32(exp_f32(w - t));
  }
  y[i] = u;
}
