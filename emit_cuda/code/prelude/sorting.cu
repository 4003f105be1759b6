// Sorting by digits of 8 bits: each block of 256 threads has a tile of 2048 keys. Each of
// its threads has 8 neighbours of the tile, and counts for one of the 256 digits.

// Where a number of a tile lies in shared memory: neighbours of different threads in different banks.
static u32 skewed(u32 number) { return number + number / 16; }

// The sum of the values of the threads before this one; all 256 must come. There is room for each warp.
static u32 sum_before(u32 value, u32 *warps) {
  u32 sum = value, lane = threadIdx.x % 32;
  for (u32 step = 1; step < 32; step *= 2) {
    u32 other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads();
  if (lane == 31) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  u32 before = sum - value;
  for (u32 warp = 0; warp < threadIdx.x / 32; warp++) before += warps[warp];
  return before;
}

// How many keys of a tile have which digit, from bit `shift` on: counts[row][digit][tile].
static void count_digits(const u32 *keys, u32 *counts, s64 n, s64 tiles, s32 shift, u32 *own) {
  s64 row = blockIdx.x / tiles, tile = blockIdx.x % tiles, end = tile * 2048 + 2048;
  u32 x = threadIdx.x;
  own[x] = 0;
  __syncthreads();
  for (s64 j = tile * 2048 + x; j < (end < n ? end : n); j += 256) {
    atomicAdd(&own[keys[row * n + j] >> shift & 255], 1u);
  }
  __syncthreads();
  counts[(row * 256 + x) * tiles + tile] = own[x];
}

// Of a digit of a row, how many come in the tiles before each, and how many there are in all.
static void sum_digits(u32 *counts, u32 *totals, s64 tiles, u32 *warps) {
  u32 *own = counts + blockIdx.x * tiles, carry = 0;
  for (s64 first = 0; first < tiles; first += 256) {
    s64 tile = first + threadIdx.x;
    u32 count = tile < tiles ? own[tile] : 0, before = carry + sum_before(count, warps);
    if (tile < tiles) own[tile] = before;
    if (threadIdx.x == 255) warps[8] = before + count;
    __syncthreads();
    carry = warps[8];
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = carry;
}

// Order a tile in shared memory by 4 bits; of equal ones, the first comes first.
static void order_tile(u32 *keys, u32 *numbers, s32 shift, u32 *counts, u32 *warps) {
  u32 x = threadIdx.x, key[8], number[8], sum = 0;
  for (u32 d = 0; d < 16; d++) counts[skewed(d * 256 + x)] = 0;
  for (u32 e = 0; e < 8; e++) {
    key[e] = keys[skewed(x * 8 + e)];
    number[e] = numbers[skewed(x * 8 + e)];
    counts[skewed((key[e] >> shift & 15) * 256 + x)]++;
  }
  __syncthreads();
  for (u32 e = 0; e < 16; e++) sum += counts[skewed(x * 16 + e)];
  u32 before = sum_before(sum, warps);
  for (u32 e = 0; e < 16; e++) {
    u32 count = counts[skewed(x * 16 + e)];
    counts[skewed(x * 16 + e)] = before;
    before += count;
  }
  __syncthreads();
  for (u32 e = 0; e < 8; e++) {
    u32 place = counts[skewed((key[e] >> shift & 15) * 256 + x)]++;
    keys[skewed(place)] = key[e];
    numbers[skewed(place)] = number[e];
  }
  __syncthreads();
}

// Move the keys of a tile, and the numbers of their elements, to where their digit puts them: behind
// those of smaller digits, and of tiles before. The padding of the row's last tile stays at its end.
static void move_by_digit(const u32 *keys, const u32 *numbers, u32 *sorted, u32 *order,
                          const u32 *counts, const u32 *totals, s64 n, s64 tiles, s32 shift,
                          u32 *own_keys, u32 *own_numbers, u32 *places, u32 *warps) {
  s64 row = blockIdx.x / tiles, tile = blockIdx.x % tiles, begin = tile * 2048;
  u32 x = threadIdx.x, left = n - begin < 2048 ? (u32)(n - begin) : 2048;
  for (u32 p = x; p < 2048; p += 256) {
    own_keys[skewed(p)] = p < left ? keys[row * n + begin + p] : 0xffffffffu;
    own_numbers[skewed(p)] = p < left ? numbers[row * n + begin + p] : 0;
  }
  __syncthreads();
  order_tile(own_keys, own_numbers, shift, places, warps);
  order_tile(own_keys, own_numbers, shift + 4, places, warps);
  // Where a digit begins in the tile, and where its keys of this tile begin in the row.
  u32 *first = places, *target = places + 256;
  for (u32 p = x; p < 2048; p += 256) {
    u32 digit = own_keys[skewed(p)] >> shift & 255;
    if (p == 0 || (own_keys[skewed(p - 1)] >> shift & 255) != digit) first[digit] = p;
  }
  u32 smaller = sum_before(totals[row * 256 + x], warps);
  target[x] = smaller + counts[(row * 256 + x) * tiles + tile];
  __syncthreads();
  for (u32 p = x; p < left; p += 256) {
    u32 key = own_keys[skewed(p)], digit = key >> shift & 255;
    s64 at = row * n + target[digit] + (p - first[digit]);
    sorted[at] = key;
    order[at] = own_numbers[skewed(p)];
  }
}
