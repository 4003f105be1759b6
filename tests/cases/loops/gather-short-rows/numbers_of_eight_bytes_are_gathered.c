// Shuffles of numbers of eight bytes take as long as to gather them.
#pragma parallel
for (s64 i = 0; i < 100; i++) {
  f64 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 5; j++) {
    const f64 v = x[i * 5 + j];
    t = t + key(v);
  }
  y[i] = t;
}
// EXPECT
#pragma parallel
for (s64 i_block = 0; i_block < 96; i_block += 16) {
  s32 rows[16];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    rows[k_1] = (s32)k_1 * 5;
  }
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 16; k_1++) {
    const s64 i = i_block + k_1;
    const s32 row = rows[k_1];
    f64 t = 0;
    const f64 v_1 = x[(i_block * 5 + row)];
    t = t + key(v_1);
    const f64 v_2 = x[(i_block * 5 + row) + 1];
    t = t + key(v_2);
    const f64 v_3 = x[(i_block * 5 + row) + 2];
    t = t + key(v_3);
    const f64 v_4 = x[(i_block * 5 + row) + 3];
    t = t + key(v_4);
    const f64 v_5 = x[(i_block * 5 + row) + 4];
    t = t + key(v_5);
    y[i] = t;
  }
}
#pragma parallel
for (s64 i = 96; i < 100; i++) {
  f64 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 5; j++) {
    const f64 v = x[i * 5 + j];
    t = t + key(v);
  }
  y[i] = t;
}
