// Counter-based random bits.

static inline u32 rotate_left(u32 x, int distance) {
  return x << distance | x >> (32 - distance);
}

// Threefry-2x32, 20 rounds: the words of a counter, scrambled under a key. Each round adds, rotates
// and xors; every fourth, a part of the key is added.
static inline u64 threefry(u64 key, u64 counter) {
  static const int distances[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  u32 low = (u32)key, high = (u32)(key >> 32);
  u32 keys[3] = {low, high, low ^ high ^ 0x1bd11bda};
  u32 x = (u32)counter + low, y = (u32)(counter >> 32) + high;
  for (int group = 0; group < 5; group++) {
    for (int i = 0; i < 4; i++) {
      x += y;
      y = rotate_left(y, distances[group % 2][i]) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + (u32)(group + 1);
  }
  return (u64)y << 32 | x;
}

// Philox-4x32, 10 rounds: each multiplies two of the words, and swaps and xors the products' halves.
static inline void philox(u64 key, u64 counter_low, u64 counter_high, u32 *words) {
  u32 a = (u32)counter_low, b = (u32)(counter_low >> 32);
  u32 c = (u32)counter_high, d = (u32)(counter_high >> 32);
  u32 low = (u32)key, high = (u32)(key >> 32);
  for (int round = 0; round < 10; round++) {
    u64 p = (u64)a * 0xd2511f53, q = (u64)c * 0xcd9e8d57;
    a = (u32)(q >> 32) ^ b ^ low;
    b = (u32)q;
    c = (u32)(p >> 32) ^ d ^ high;
    d = (u32)p;
    low += 0x9e3779b9;
    high += 0xbb67ae85;
  }
  words[0] = a;
  words[1] = b;
  words[2] = c;
  words[3] = d;
}

// The state of the device's own generator, 128 bits, where every run begins: as XLA CPU's first one.
static __thread u64 random_state[2];

static void seed_random_state(void) {
  random_state[0] = 0x7012395;
  random_state[1] = 0;
}

// The state before it advances.
static void advance_random_state(u64 *before, s64 delta) {
  before[0] = random_state[0];
  before[1] = random_state[1];
  random_state[0] += (u64)delta;
  random_state[1] += (u64)(delta >> 63) + (random_state[0] < before[0]);
}
