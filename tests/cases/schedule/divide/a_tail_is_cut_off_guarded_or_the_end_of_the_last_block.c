// Two blocks are whole; the two iterations left over are a shorter block.
// RUN: divide(body, loop, 4, same)
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
}
// EXPECT
for (s64 i_block = 0; i_block < 8; i_block += 4) {
  for (s64 k_1 = 0; k_1 < 4; k_1++) {
    const s64 i_1 = i_block + k_1;
    y[i_1] = x[i_1];
  }
}
for (s64 k_2 = 0; k_2 < 2; k_2++) {
  const s64 i_2 = k_2 + 8;
  y[i_2] = x[i_2];
}

// All blocks are whole, and iterations past the end do nothing, as on a grid of threads.
// RUN: divide(body, loop, 4, same, tail="guard")
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
}
// EXPECT
for (s64 i_block = 0; i_block < 10; i_block += 4) {
  for (s64 k_1 = 0; k_1 < 4; k_1++) {
    const s64 i_1 = i_block + k_1;
    if (i_1 < 10) {
      y[i_1] = x[i_1];
    }
  }
}

// Blocks end with the loop, and count as it does.
// RUN: divide(body, loop, 4, same, tail="min")
for (s64 i = 1; i < 10; i++) {
  y[i] = x[i];
}
// EXPECT
#pragma trips 3
for (s64 i_block = 1; i_block < 10; i_block += 4) {
  #pragma trips 4
  for (s64 i = i_block; i < (i_block + 4 < 10 ? i_block + 4 : 10); i++) {
    y[i] = x[i];
  }
}

// What is left over counts on from the blocks, so that the end need not be known.
// RUN: divide(body, loop, 4, same, rest=same)
for (s64 i = 0; i < n; i++) {
  y[i] = x[i];
}
// EXPECT
const s64 whole = n - (n - 0) % 4;
#pragma trips 4
for (s64 i_block = 0; i_block < whole; i_block += 4) {
  for (s64 k_1 = 0; k_1 < 4; k_1++) {
    const s64 i_1 = i_block + k_1;
    y[i_1] = x[i_1];
  }
}
#pragma trips 0
for (s64 i = whole; i < n; i++) {
  y[i] = x[i];
}

// Blocks that fill the loop leave no tail, and ask for no guard.
// RUN: divide(body, loop, 5, same, tail="guard")
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
}
// EXPECT
for (s64 i_block = 0; i_block < 10; i_block += 5) {
  for (s64 k_1 = 0; k_1 < 5; k_1++) {
    const s64 i_1 = i_block + k_1;
    y[i_1] = x[i_1];
  }
}

// A loop of no more than a block is one.
// RUN: divide(body, loop, 16, same)
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
}
// STAYS

// All blocks are whole, and iterations past the end do the last one again, but store nothing.
// RUN: divide(body, loop, 4, same, tail="again")
for (s64 i = 0; i < 10; i++) {
  y[i] = x[i];
}
// EXPECT
for (s64 i_block = 0; i_block < 10; i_block += 4) {
  for (s64 k_1 = 0; k_1 < 4; k_1++) {
    const s64 i_number_1 = i_block + k_1;
    const s64 i_1 = i_number_1 < 10 ? i_number_1 : 9;
    if (i_number_1 < 10) {
      y[i_1] = x[i_1];
    }
  }
}

// An index that is loaded may be another one, once the iteration has stored.
// RUN: divide(body, loop, 4, same, tail="again")
for (s64 i = 0; i < 10; i++) {
  const s64 place = y[i];
  y[i] = x[place];
}
// REFUSED: the load of x[place] may be at another index, once elements are stored
