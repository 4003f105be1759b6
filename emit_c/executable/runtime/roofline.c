// How fast this machine can be: what the time of a kernel is compared with.
#include "runtime.h"

#include <string.h>

typedef float lanes __attribute__((vector_size(64)));

static void copy_part(void *arguments, int64_t begin, int64_t end, int64_t slot) {
  char *memory = arguments;
  (void)slot;
  memcpy(memory + begin, memory + begin + (64 << 20), end - begin);
}

// Copy 64 MiB, which neither start nor end in a cache, from the second half of some memory.
void roofline_copy(char *memory) {
  hlo_parallel(copy_part, memory, 64 << 20, 1 << 20);
}

static void multiply_part(void *arguments, int64_t begin, int64_t end, int64_t slot) {
  lanes sums[12], x = {0};
  for (int i = 0; i < 12; i++) sums[i] = x + (float)i;
  for (int64_t turn = begin; turn < end; turn++) {
    #pragma GCC unroll 12
    for (int i = 0; i < 12; i++) sums[i] = sums[i] * x + x;
  }
  for (int i = 1; i < 12; i++) sums[0] += sums[i];
  memcpy((char *)arguments + slot * sizeof *sums, sums, sizeof *sums);
}

// 2 * 12 * 16 operations of f32 for each turn, in registers. `to` has 64 bytes for each slot.
void roofline_multiply(void *to, int64_t turns) {
  hlo_parallel(multiply_part, to, turns, 1 << 14);
}

typedef int64_t words __attribute__((vector_size(64)));

static void read_part(void *arguments, int64_t begin, int64_t end, int64_t slot) {
  words *const *pointers = arguments, sums[8] = {0};
  const words *at = pointers[0] + begin, *stop = pointers[0] + end;
  for (; at + 8 <= stop; at += 8) {
    #pragma GCC unroll 8
    for (int i = 0; i < 8; i++) sums[i] += at[i];
  }
  for (; at < stop; at++) sums[0] += *at;
  for (int i = 1; i < 8; i++) sums[0] += sums[i];
  memcpy(pointers[1] + slot, sums, sizeof *sums);
}

// Read some cache lines of 64 bytes, one after the other. `to` has 64 bytes for each slot.
void roofline_read(char *memory, int64_t lines, void *to) {
  void *pointers[] = {memory, to};
  hlo_parallel(read_part, pointers, lines, 1 << 9);
}
