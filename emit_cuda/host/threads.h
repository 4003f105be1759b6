// The parts of a launch: for threads.cpp, which lets the threads run, and for checker.cpp, which
// watches their accesses.
#pragma once
#include "cuda/thread.h"

#include <atomic>
#include <vector>

namespace cuda_on_host {

// ---- structures that emit_cuda/host/library.py and findings.py declare, too -------------------
enum Fault : int {
    RACE, BETWEEN_BLOCKS, OUT_OF_BOUNDS, MISALIGNED, UNINITIALISED, OVERFLOW_, DIVERGENT, ABSENT, FAILED
};
struct Spot {
    unsigned thread[3], block[3];
    int line;             // in the .cu file; 0 where only the address of the code is known
    int writes;           // 0 reads, 1 writes, 2 is atomic
    uint64_t code;        // after the access, counted from the library's first byte; 0 if unknown
};
struct Finding {
    int fault;
    int region;           // which of the launch's regions; -1 shared, -2 dynamic shared, -3 none
    int64_t offset;       // in bytes, in the region; an address where there is none
    int bytes;
    Spot here, other;     // `other.block` is all ones where there is no other
    char text[160];
};
struct Region {
    uint64_t address, bytes;
};
// Functions of Python, for the one processor thread that called from it; it has given its lock back.
struct Python {
    void *(*save)();              // PyEval_SaveThread
    void (*restore)(void *);      // PyEval_RestoreThread
    void *(*call)(void *);        // PyObject_CallNoArgs
    void (*drop)(void *);         // Py_DecRef
    void *nothing;                // a function that does nothing; signals are handled on the way
};
struct Launch {
    void (*run)(void **arguments);
    void **arguments;
    unsigned grid[3], block[3];
    uint64_t shared_bytes;
    uint64_t seed;        // of the order of blocks and threads; 0 leaves them in order
    int workers;          // processor threads at most
    int capacity;         // of findings
    int found;
    int region_count;
    Region *regions;
    Finding *findings;
    const Python *python; // null where the caller is not Python
    int cooperative;      // all blocks are there at once, and may wait for each other
    int flushes;          // subnormal numbers are zeros
};

// ---- threads and warps ------------------------------------------------------------------------
struct Stack;
struct Meeting : Exchange {
    unsigned begin;       // the number of its first lane's thread
    unsigned reading;     // lanes that have not looked yet; the meeting is over when none is left
    bool open;
    Order order;
    const char *what;
    int line;
};
struct Begun : Copy { unsigned group; };
struct Thread {
    uint3 index;
    unsigned number;      // in its block
    Stack *stack;         // where it waits
    Meeting *meeting;     // of the warp for which it waits
    int barrier_line;     // where it waits for the block; 0 if it does not
    bool for_grid;        // and then for all other blocks
    bool finished;
    std::vector<Begun> copies;  // begun and not waited for, the first at `first_copy`
    size_t first_copy;
    unsigned copy_group;  // of the next copy
    unsigned clock[32];   // checked: the last step of each lane of its warp that it knows to be over
};
struct Warp {
    unsigned exists, alive;
    Meeting meetings[33];
};

extern const bool checked;
extern std::atomic<bool> starved;  // of memory; the launch then fails
extern __thread Thread *current;      // the thread that runs; null between threads
Thread *thread_numbered(unsigned number);
unsigned block_number();
// Notes a finding, once for each pair of lines; ends the launch if nothing can go on after it.
void report(const Finding &, bool ends_the_launch);
Spot spot(int line, const void *code = nullptr, int writes = 0);
struct Stacks {
    char *begin = nullptr, *end = nullptr;
};
extern const Stacks *stacks;       // of kernel threads, all together

// ---- told to the checker ------------------------------------------------------------------------
void checker_begins(Launch &);
void checker_begins_block(unsigned block);
void checker_passes_barrier();
// Of a cooperative launch: a block waits for others, it goes on, all that wait have come.
void checker_leaves_block();
void checker_enters_block();
void checker_passes_grid();
void checker_meets(const Meeting &);
void checker_fences();
void checker_finishes(Thread &);
void checker_ends();
}  // namespace cuda_on_host
