// RUN: vectorize(loop)
for (s64 i = 0; i < 9; i++) {
  y[i + 1] = y[i];
}
// REFUSED: the load of y[i] and the store to y[i + 1] may meet in two iterations

// RUN: parallelize(loop)
for (s64 i = 0; i < 9; i++) {
  y[i / 2] = x[i];
}
// REFUSED: the store to y[(i >> 1)] and the store to y[(i >> 1)] may meet in two iterations

// RUN: parallelize(loop)
#pragma fold + : total
for (s64 i = 0; i < 9; i++) {
  total = total + x[i];
}
// REFUSED: the loop over i folds, and threads would share the total

// RUN: vectorize(loop)
for (s64 i = 0; i < 9; i++) {
  for (s64 k = 0; k < 3; k++) {
    y[3 * i + k] = x[i];
  }
}
// REFUSED: a loop or a branch is inside of the loop over i

// RUN: bind(loop, THREAD_X)
for (s64 i = 0; i < n; i++) {
  y[i] = x[i];
}
// REFUSED: the bounds of the loop over i are not known

// What a thread has, blocks do not share.
// RUN: bind(loop.with_body([bind(loop.body[0], BLOCK_X)]), THREAD_X)
for (s64 i = 0; i < 4; i++) {
  for (s64 j = 0; j < 4; j++) {
    y[4 * i + j] = x[i];
  }
}
// REFUSED: the loop over j, inside of the one over i, has blockIdx.x: threads are inside of blocks

// Without a promise, an iteration that never ends would keep later ones from running.
// RUN: bind(loop, THREAD_X)
for (s64 i = 0; i < 9; i++) {
  s64 n = i;
  for (;;) {
    if (n < 3) break;
    n = n - 3;
  }
  y[i] = x[i];
}
// REFUSED: an iteration of the loop over i may be the last one
