// What the thread of a kernel knows of itself, and how it waits for others: threads.cpp does it.
#pragma once
#include "vectors.h"

namespace cuda_on_host {
// ---- where it is -------------------------------------------------------------------------
struct Here {
    uint3 thread, block, block_size, grid_size;
    unsigned lane;  // in its warp
    int64_t polls;  // until the clock is read again
};
extern __thread Here here;  // set whenever another thread of the kernel goes on

// ---- its block and its grid --------------------------------------------------------------
struct Votes { int count, all, any; };
// Waits until every thread of the block is here; tells how they voted.
Votes barrier(int vote, int line);
// Waits until so many threads of the block are here, which are the first ones.
void barrier_of_first(unsigned threads, int line);
// Waits until every thread of every block is here.
void grid_barrier(int line);
// Memory: orders the accesses of this thread, for other blocks to see.
void fence();
// Ends the launch, and says why.
[[noreturn]] void fail(const char *what, int line);
// For loops that may never end: about every 20 ms, ends the launch if the program is interrupted.
void look_for_stop();

// ---- its warp ----------------------------------------------------------------------------
struct Exchange {
    uint64_t word[32];
    unsigned lanes;  // that gave one
    unsigned mask;
};
enum Order { UNORDERED, ORDERS_MEMORY };  // only __syncwarp orders accesses to memory
const Exchange &meet(unsigned mask, uint64_t word, const char *what, int line, Order = UNORDERED);
void leave(const Exchange &);
// Notes that a lane takes the word of another that gave none; the value is undefined.
void absent(unsigned lane, const char *what, int line);

// ---- its atomic operations, for the checker ---------------------------------------------
// Whether a word is exchanged for another even if it holds the same value already.
enum Update { READ_MODIFY_WRITE, COMPARE_AND_SWAP };
#ifdef CUDA_ON_HOST_CHECKED
void atomic_access(const volatile void *address, size_t size, Update, int line);
#else
inline void atomic_access(const volatile void *, size_t, Update, int) {}
#endif

// ---- its asynchronous copies -------------------------------------------------------------
struct Copy {
    void *to;
    const void *from;
    int size, bytes;  // that are written; that are read, the others being zero
};
void begin_copy(const Copy &);
void end_copies();  // the copies begun since the last call are a group
// Takes a copy of this thread that must be over, but for its last groups; whether there was one.
bool finished_copy(unsigned but_for, Copy &);
// The 32 bits of an address in shared memory are those of a pointer to somewhere near.
extern __thread uintptr_t shared_place;
}  // namespace cuda_on_host
