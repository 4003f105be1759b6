// CUDA C on a processor: the names that a .cu file takes for granted, for a compiler of plain C++.
//
// This file is included before the first line of a .cu file, which then compiles as it is. Nothing
// in the .cu file changes, with two exceptions: the driver gives `extern __shared__` arrays the name
// of the memory that they all share, and inline PTX becomes calls.
//
// Threads, barriers and warps are in threads.cpp. The checks of every access in checked mode are in
// checker.cpp.
#pragma once
#include "cuda/words.h"        // __global__, __shared__, ...: where a thing lives
#include "cuda/vectors.h"      // float4 and its like, dim3
#include "cuda/thread.h"       // what a thread asks of threads.cpp: its index, to wait for others
#include "cuda/barriers.h"     // threadIdx and its kin, __syncthreads and its kin
#include "cuda/warps.h"        // shuffles and votes, which are exchanges of a word between 32 threads
#include "cuda/atomics.h"      // one read-modify-write, of which all others are made
#include "cuda/mathematics.h"  // functions that CUDA has and math.h does not; bits of numbers
#include "cuda/half.h"         // __half and __nv_bfloat16: two bytes, a float when computed with
#include "cuda/loads.h"        // __ldg and others, which only say something to the cache
#include "cuda/wmma.h"         // nvcuda::wmma: a warp multiplies matrices
#include "cuda/ptx.h"          // instructions of inline PTX: `mma`, `cvt`, `max.NaN`, ...
#include "cuda/copies.h"       // cp.async, which may be over long after it has begun; ldmatrix
#include "cuda/kernels.h"      // how the driver calls a kernel
