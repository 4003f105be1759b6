// The grid of a cooperative launch: all of its blocks are there at once.

// Waits until all threads of the grid are here, and have seen what the others did before. The first
// block adds what changes the highest bit when all have come. So the other bits are 0 again behind each
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
