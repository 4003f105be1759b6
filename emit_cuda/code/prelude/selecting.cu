// The least words of a row, by a block that goes through the row in steps. `words` are those found, and
// `counts` how many. `candidates` has room for words that may be among the k least, after one that is
// the threshold.

// Leaves the k least words, in order; gives the last of them, or the greatest word if there are fewer.
// Of so many groups of neighbouring threads as the least words of k of them tell, no greater word is
// among the k least; of the others there are few, whose ranks are counted. `width` threads are a group.
static u64 keep_least(u64 *words, u64 *candidates, u32 *counts, u32 k, u32 width) {
  u32 x = threadIdx.x, total = counts[0], groups = blockDim.x / width;
  u64 threshold = ~0ull, *shared_threshold = candidates++;
  if (total > blockDim.x) {
    u64 least = ~0ull;
    for (u32 p = x; p < total; p += blockDim.x) least = min(least, words[p]);
    for (u32 step = 1; step < width; step *= 2)
      least = min(least, __shfl_xor_sync(0xffffffffu, least, step));
    if (x % width == 0) candidates[x / width] = least;
    __syncthreads();
    if (x < groups) {
      u32 rank = 0;
      for (u32 p = 0; p < groups; p++) rank += candidates[p] < candidates[x];
      if (rank == k - 1) *shared_threshold = candidates[x];
    }
    __syncthreads();
    threshold = *shared_threshold;
  }
  for (u32 p = x; p < total; p += blockDim.x)
    if (words[p] <= threshold) candidates[atomicAdd(&counts[1], 1u)] = words[p];
  __syncthreads();
  u32 left = counts[1];
  for (u32 p = x; p < left; p += blockDim.x) {
    u64 own = candidates[p];
    u32 rank = 0;
    for (u32 other = 0; other < left; other++) rank += candidates[other] < own;
    if (rank < k) words[rank] = own;
  }
  __syncthreads();
  if (x == 0) counts[0] = min(left, k), counts[1] = 0;
  __syncthreads();
  return left < k ? ~0ull : words[k - 1];
}

// Adds words to those found, if they are below a threshold; gives the next threshold. Most words are
// not below it.
template <int EACH>
static __device__ inline u64 keep_below(u64 (&found)[EACH], u64 threshold, u64 *words,
                                        u64 *candidates, u32 *counts, u32 k, u32 width) {
  bool any = false;
#pragma unroll
  for (int e = 0; e < EACH; e++) any |= found[e] < threshold;
  if (!__syncthreads_or(any)) return threshold;
  if (any) {
#pragma unroll
    for (int e = 0; e < EACH; e++)
      if (found[e] < threshold) words[atomicAdd(&counts[0], 1u)] = found[e];
  }
  __syncthreads();
  return counts[0] > 512 ? keep_least(words, candidates, counts, k, width) : threshold;
}
