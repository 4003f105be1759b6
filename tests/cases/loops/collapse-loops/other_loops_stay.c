// Other loops stay. (Iterations in turn.)
// GIVEN: f32 x[], f32 y[]
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
}
// STAYS

// Other loops stay. (Few rows.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 63; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
}
// STAYS

// Other loops stay. (Whole vectors.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 16; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
}
// STAYS

// Other loops stay. (Many columns.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 99; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
}
// STAYS

// Other loops stay. (Columns that fill a vector, for few operations.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 17; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
}
// STAYS

// Other loops stay. (Copies for few operations.)
// GIVEN: f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 9 + c] = n;
  }
}
// STAYS

// Other loops stay. (A choice between statements.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    if (x[i] > 0) {
      y[i * 7 + c] = x[i * 7 + c];
    }
  }
}
// STAYS

// Other loops stay. (A number of the row, for few operations.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  const f32 a = x[i];
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = a;
  }
}
// STAYS

// Other loops stay. (A number of the row as an index.)
// GIVEN: f32 x[], f32 y[], f32 z[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  const s64 n = z[i];
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    const f32 e = exp_f32(n);
    y[i * 7 + c] = x[n + c];
  }
}
// STAYS

// Other loops stay. (The counter of columns as a number.)
// GIVEN: f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = c + 1;
  }
}
// STAYS

// Other loops stay. (An element that may not be loaded.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    const f32 e = exp_f32(n);
    y[i * 7 + c] = i > 3 ? x[c] : 0;
  }
}
// STAYS

// Other loops stay. (An index that is computed.)
// GIVEN: f32 x[], f32 y[], f32 z[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    const f32 e = exp_f32(n);
    const s64 n = z[0];
    y[i * 7 + c] = x[n + c];
  }
}
// STAYS

// Other loops stay. (Rows that are folded.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd reduction(+ : n)
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
}
// STAYS

// Other loops stay. (Columns of several widths.)
// GIVEN: f32 x[], f32 y[]
#pragma parallel
for (s64 i = 0; i < 300; i++) {
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
  #pragma omp simd
  for (s64 c = 0; c < 3; c++) {
    y[i * 7 + c] = x[i * 7 + c];
  }
}
// STAYS
