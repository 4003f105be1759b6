// In lanes.
// RUN: vectorize(loop)
for (s64 i = 0; i < 9; i++) {
  y[2 * i] = y[2 * i + 1];
}
// EXPECT
#pragma omp simd
for (s64 i = 0; i < 9; i++) {
  y[i * 2] = y[i * 2 + 1];
}

// Lanes fold, too.
// RUN: vectorize(loop)
#pragma fold + : total
for (s64 i = 0; i < 9; i++) {
  total = total + x[i];
}
// EXPECT
#pragma omp simd reduction(+ : total)
for (s64 i = 0; i < 9; i++) {
  total = total + x[i];
}

// On threads.
// RUN: parallelize(loop)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    y[3 * i + k] = x[i];
  }
}
// EXPECT
#pragma parallel
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    y[i * 3 + k] = x[i];
  }
}

// On threads of a GPU, one for each iteration.
// RUN: bind(loop, THREAD_X)
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}
// EXPECT
// bound to threadIdx.x
for (s64 i = 0; i < 9; i++) {
  y[i] = x[i];
}

// Two loops on one index have its digits, the inner one the lowest.
// RUN: bind(loop.with_body([bind(loop.body[0], THREAD_X)]), THREAD_X)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    y[3 * i + k] = x[i];
  }
}
// EXPECT
// bound to threadIdx.x
for (s64 i = 0; i < 9; i++) {
  // bound to threadIdx.x
  for (s64 k = 0; k < 3; k++) {
    y[i * 3 + k] = x[i];
  }
}

// Blocks would have to wait for each other to fold.
// RUN: bind(loop, BLOCK_X)
#pragma fold + : total
for (s64 i = 0; i < 9; i++) {
  total = total + x[i];
}
// REFUSED: the loop over i folds, and blocks would share the total

// Some threads go on after others have ended, where the loop promises that these need not wait.
// RUN: bind(loop, THREAD_X)
#pragma parallel
for (s64 i = 0; i < 9; i++) {
  s64 n = i;
  for (;;) {
    if (n < 3) break;
    n = n - 3;
  }
  y[i] = x[n];
}
// EXPECT
#pragma parallel
// bound to threadIdx.x
for (s64 i = 0; i < 9; i++) {
  s64 n = i;
  for (;;) {
    if (n < 3) break;
    n = n - 3;
  }
  y[i] = x[n];
}
