// __syncthreads and its kin, threadIdx and its like.
#pragma once
#include "thread.h"

#define threadIdx (cuda_on_host::here.thread)
#define blockIdx (cuda_on_host::here.block)
#define blockDim (cuda_on_host::here.block_size)
#define gridDim (cuda_on_host::here.grid_size)
constexpr int warpSize = 32;

namespace cuda_on_host {
CUDA_UNCHECKED inline void poll() {
    if (--here.polls < 0) look_for_stop();
}
}  // namespace cuda_on_host

inline void __syncthreads(CUDA_LINE) { cuda_on_host::barrier(0, line); }
inline int __syncthreads_count(int p, CUDA_LINE) { return cuda_on_host::barrier(p, line).count; }
inline int __syncthreads_and(int p, CUDA_LINE) { return cuda_on_host::barrier(p, line).all; }
inline int __syncthreads_or(int p, CUDA_LINE) { return cuda_on_host::barrier(p, line).any; }
inline void __threadfence() { cuda_on_host::fence(); }
inline void __threadfence_block() {}
inline void __threadfence_system() { cuda_on_host::fence(); }
inline void __trap(CUDA_LINE) { cuda_on_host::fail("__trap()", line); }
#undef assert
#define assert(condition) \
    ((condition) ? (void)0 : cuda_on_host::fail("assert(" #condition ") failed", __LINE__))
