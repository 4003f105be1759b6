// Barriers of a part of a block, and of the grid of a cooperative launch, all of whose blocks are there
// at once.

// Waits until the first threads of the block are here, a multiple of 32; others must not come.
static __device__ inline void barrier_of_first(u32 threads) {
#ifdef CUDA_ON_HOST
  cuda_on_host::barrier_of_first(threads, __LINE__);
#else
  asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory");
#endif
}

// Waits until all threads of the grid are here, and have seen what the others did before. The first
// block adds what changes the highest bit when all have come. So the other bits are 0 again after each
// barrier, as they were before the first launch.
static __device__ inline void grid_barrier(u32 *here) {
#ifdef CUDA_ON_HOST
  cuda_on_host::grid_barrier(__LINE__);
#else
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 mine = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1), before, now;
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(here), "r"(mine) : "memory");
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(here) : "memory");
    } while (((before ^ now) & 0x80000000u) == 0);
  }
  __syncthreads();
#endif
}
