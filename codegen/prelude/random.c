// Counter-based random bits.

static inline u32 rotate_left(u32 x, int distance) {
  return x << distance | x >> (32 - distance);
}

// Four rounds of Threefry-2x32, each of which adds, rotates and xors; then a part of the key is added.
__attribute__((always_inline))
static inline void threefry_rounds(u32 *x, u32 *y, int a, int b, int c, int d, u32 for_x, u32 for_y) {
  *x += *y;
  *y = rotate_left(*y, a) ^ *x;
  *x += *y;
  *y = rotate_left(*y, b) ^ *x;
  *x += *y;
  *y = rotate_left(*y, c) ^ *x;
  *x += *y;
  *y = rotate_left(*y, d) ^ *x;
  *x += for_x;
  *y += for_y;
}

// Threefry-2x32, 20 rounds: the words of a counter, scrambled under a key.
__attribute__((always_inline))
static inline u64 threefry(u64 key, u64 counter) {
  u32 low = (u32)key, high = (u32)(key >> 32), third = low ^ high ^ 0x1bd11bda;
  u32 x = (u32)counter + low, y = (u32)(counter >> 32) + high;
  threefry_rounds(&x, &y, 13, 15, 26, 6, high, third + 1);
  threefry_rounds(&x, &y, 17, 29, 16, 24, third, low + 2);
  threefry_rounds(&x, &y, 13, 15, 26, 6, low, high + 3);
  threefry_rounds(&x, &y, 17, 29, 16, 24, high, third + 4);
  threefry_rounds(&x, &y, 13, 15, 26, 6, third, low + 5);
  return (u64)y << 32 | x;
}

// A round of Philox-4x32: two of the words are multiplied, and the products' halves swapped and xored.
__attribute__((always_inline))
static inline void philox_round(u32 *a, u32 *b, u32 *c, u32 *d, u64 key, u32 round) {
  u64 p = (u64)*a * 0xd2511f53, q = (u64)*c * 0xcd9e8d57;
  *a = (u32)(q >> 32) ^ *b ^ ((u32)key + round * 0x9e3779b9);
  *b = (u32)q;
  *c = (u32)(p >> 32) ^ *d ^ ((u32)(key >> 32) + round * 0xbb67ae85);
  *d = (u32)p;
}

// Philox-4x32, 10 rounds: the words of a counter, scrambled under a key; the lower or upper two.
__attribute__((always_inline))
static inline u64 philox(u64 key, u64 counter_low, u64 counter_high, int upper) {
  u32 a = (u32)counter_low, b = (u32)(counter_low >> 32);
  u32 c = (u32)counter_high, d = (u32)(counter_high >> 32);
  philox_round(&a, &b, &c, &d, key, 0);
  philox_round(&a, &b, &c, &d, key, 1);
  philox_round(&a, &b, &c, &d, key, 2);
  philox_round(&a, &b, &c, &d, key, 3);
  philox_round(&a, &b, &c, &d, key, 4);
  philox_round(&a, &b, &c, &d, key, 5);
  philox_round(&a, &b, &c, &d, key, 6);
  philox_round(&a, &b, &c, &d, key, 7);
  philox_round(&a, &b, &c, &d, key, 8);
  philox_round(&a, &b, &c, &d, key, 9);
  return upper ? (u64)d << 32 | c : (u64)b << 32 | a;
}

// The state of the device's own generator, 128 bits, where every run begins: as XLA CPU's first one,
// with the number of another part of the sequence above, if the caller has set it.
u64 random_part;
static __thread u64 random_state[2];

static void seed_random_state(void) {
  random_state[0] = 0x7012395;
  random_state[1] = random_part;
}

// The state before it advances.
static void advance_random_state(u64 *before, s64 delta) {
  before[0] = random_state[0];
  before[1] = random_state[1];
  random_state[0] += (u64)delta;
  random_state[1] += (u64)(delta >> 63) + (random_state[0] < before[0]);
}
