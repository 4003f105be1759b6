// Other loops stay as they are.
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 100; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
// STAYS

for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 2; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
// STAYS

#pragma parallel
for (s64 i = 0; i < 15; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 2; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
// STAYS

#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 2; j++) {
    f(j);
  }
  y[i] = t;
}
// STAYS

#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v0 = exp_f32(x[j]);
    const f32 v1 = exp_f32(x[j]);
    const f32 v2 = exp_f32(x[j]);
    const f32 v3 = exp_f32(x[j]);
    const f32 v4 = exp_f32(x[j]);
    const f32 v5 = exp_f32(x[j]);
    const f32 v6 = exp_f32(x[j]);
    const f32 v7 = exp_f32(x[j]);
    const f32 v8 = exp_f32(x[j]);
    const f32 v9 = exp_f32(x[j]);
    const f32 v10 = exp_f32(x[j]);
    const f32 v11 = exp_f32(x[j]);
    const f32 v12 = exp_f32(x[j]);
    const f32 v13 = exp_f32(x[j]);
    const f32 v14 = exp_f32(x[j]);
    const f32 v15 = exp_f32(x[j]);
    const f32 v16 = exp_f32(x[j]);
    const f32 v17 = exp_f32(x[j]);
    const f32 v18 = exp_f32(x[j]);
    const f32 v19 = exp_f32(x[j]);
  }
  y[i] = t;
}
// STAYS

#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  #pragma omp simd reduction(+ : t)
  for (s64 j = 0; j < 16; j++) {
    const f32 v = x[i * 4 + j];
    t = t + v;
  }
  y[i] = t;
}
// STAYS

#pragma parallel
for (s64 i = 0; i < 1000; i++) {
  f32 t = 0;
  for (s64 j = 0; j < 4; j++) {
    #pragma omp simd reduction(+ : t)
    for (s64 l = 0; l < 5; l++) {
      const f32 v = x[i * 4 + j * 2 + l];
      t = t + v;
    }
  }
  y[i] = t;
}
// STAYS
