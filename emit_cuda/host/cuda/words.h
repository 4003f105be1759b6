// Words of CUDA that are no part of C++: where a function runs, where a variable lies.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUDA_ON_HOST 1
#define __CUDACC__ 1
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __noinline__ __attribute__((noinline))

// Shared memory is one for a block, and a block runs on one processor thread. In checked mode there
// is one such thread, and all shared variables lie side by side, where the checker finds them.
#ifdef CUDA_ON_HOST_CHECKED
#define CUDA_SHARED __attribute__((section("cuda_shared")))
#define CUDA_DYNAMIC_SHARED
// For functions of this file whose accesses on behalf of a kernel are none of the kernel's.
#define CUDA_UNCHECKED __attribute__((no_sanitize_thread, no_sanitize_undefined, noinline))
#else
#define CUDA_SHARED __thread
#define CUDA_DYNAMIC_SHARED __thread
#define CUDA_UNCHECKED
#endif
#define __shared__ static CUDA_SHARED

// Bytes of shared memory that a block may ask for, as on an H100.
constexpr int CUDA_MOST_SHARED = 227 << 10;

// The line of the caller, which a message will name.
#define CUDA_LINE int line = __builtin_LINE()
