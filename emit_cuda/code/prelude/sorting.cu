// Sorting by digits of 8 bits. A block of 256 threads has a tile; each of its warps has neighbours in
// it, of which a lane has each 32nd. `warps` has room for a number of each warp, and for one more.

// The exclusive prefix sum of the values of 256 threads: of those before this one.
static u32 exclusive_sum(u32 value, u32 *warps) {
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

// The lanes whose words are 0 if this lane's is, and are not 0 if it is not.
static __device__ inline u32 lanes_of_same_bit(u32 word) {
#ifdef CUDA_ON_HOST
  u32 votes = __ballot_sync(0xffffffffu, word);
  return word ? votes : ~votes;
#else  // four instructions; compilers make seven of it
  u32 votes;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; "
      "@!p not.b32 %0, %0; }"
      : "=r"(votes)
      : "r"(word));
  return votes;
#endif
}

// Ranks elements by their digits: where `ranks` has a digit, it has the element's position in the sorted
// tile then, after smaller digits, and of equal ones after those before it. `counts` are a
// histogram for each warp. `offsets` become where each digit begins in the tile.
// Gives how often the tile has digit x, for thread x.
template <int EACH>
static __device__ inline u32 rank_digits(u32 (&ranks)[EACH], u32 *counts, u32 *offsets, u32 *warps) {
  u32 x = threadIdx.x, lane = x % 32, below = (1u << lane) - 1, *own = counts + x / 32 * 256;
  for (u32 digit = lane; digit < 256; digit += 32) own[digit] = 0;
  __syncwarp();
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    u32 digit = ranks[e], same = 0xffffffffu;
#pragma unroll
    for (u32 bit = 0; bit < 8; bit++) {
      same &= lanes_of_same_bit(digit & 1u << bit);
    }
    u32 before = own[digit];
    __syncwarp();
    if (!(same & below)) own[digit] = before + __popc(same);
    __syncwarp();
    ranks[e] = digit | (before + __popc(same & below)) << 8;
  }
  __syncthreads();
  u32 count = 0, before[8];
#pragma unroll
  for (u32 warp = 0; warp < 8; warp++) before[warp] = count, count += counts[warp * 256 + x];
  u32 begin = offsets[x] = exclusive_sum(count, warps);
#pragma unroll
  for (u32 warp = 0; warp < 8; warp++) counts[warp * 256 + x] = begin + before[warp];
  __syncthreads();
#pragma unroll
  for (int e = 0; e < EACH; e++) ranks[e] = own[ranks[e] & 255] + (ranks[e] >> 8);
  return count;
}

// The number of this block among those that have begun: a block that waits for lower numbers waits for
// blocks that run.
static u32 ticket(u32 *begun, u32 *warps) {
  if (threadIdx.x == 0) warps[8] = atomicAdd(begun, 1u);
  __syncthreads();
  return warps[8];
}

// Where this tile's elements of digit x begin in the sorted row, by decoupled look-back. A tile's state
// is 0 until its count is known; its upper bits are 1 beside this count, and 2 beside where the digit's
// elements of the next tile begin. The block looks at the tiles before, the last one first, four at
// once, up to one that knows the latter.
static u32 look_back(u32 *states, s64 tile, u32 count) {
  u32 *own = states + tile * 256 + threadIdx.x, before = 0, seen[4];
  atomicExch(own, 1u << 30 | count);
  for (s64 back = 0, found = 0; !found; poll_for_stop()) {
#pragma unroll
    for (int k = 0; k < 4; k++)
      seen[k] = back + k < tile ? atomicAdd(own - (back + k + 1) * 256, 0u) : 0;
    bool known = true;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      known = known && seen[k] && !found;
      if (known) before += seen[k] & ((1u << 30) - 1), found = seen[k] >> 31, back++;
    }
  }
  return before;
}

// Changes where digits begin in the sorted tile to how much farther its elements are in the sorted row.
// `totals` is how often the row has each digit.
static void offsets_in_row(u32 *states, const u32 *totals, s64 tile, u32 count, u32 *offsets,
                           u32 *warps) {
  u32 x = threadIdx.x;
  u32 begin = tile ? look_back(states, tile, count) : exclusive_sum(totals[x], warps);
  atomicExch(&states[tile * 256 + x], 2u << 30 | (begin + count));
  offsets[x] = begin - offsets[x];
  __syncthreads();
}
