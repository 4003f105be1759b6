// Shuffles and votes of a warp.
#pragma once
#include "thread.h"

// Every operation of a warp is an exchange: each lane that the mask names gives a word, waits for
// the others, and looks at the words of all.
namespace cuda_on_host {

template <class T>
CUDA_UNCHECKED T shuffled(unsigned mask, T value, int from, const char *what, int line) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
    uint64_t word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    const Exchange &met = meet(mask, word, what, line);
    if (met.lanes >> from & 1)
        __builtin_memcpy(&value, &met.word[from], sizeof value);
    else
        absent(from, what, line);
    leave(met);
    return value;
}
CUDA_UNCHECKED inline unsigned ballot(unsigned mask, bool vote, const char *what, int line,
                                      unsigned *lanes = 0) {
    const Exchange &met = meet(mask, vote, what, line);
    unsigned votes = 0;
    for (int lane = 0; lane < 32; ++lane) votes |= (unsigned)met.word[lane] << lane;
    votes &= met.lanes;
    if (lanes) *lanes = met.lanes;
    leave(met);
    return votes;
}
// The lane from which a shuffle takes its word; its own where that would leave the segment.
inline int first(int width) { return here.lane & ~(width - 1); }
inline int up(unsigned delta, int width) {
    int from = (int)here.lane - (int)delta;
    return from < first(width) ? here.lane : from;
}
inline int down(unsigned delta, int width) {
    int from = (int)(here.lane + delta);
    return from >= first(width) + width ? here.lane : from;
}
inline int across(int lanes, int width) {
    int from = (int)here.lane ^ lanes;
    return from >= first(width) + width ? here.lane : from;
}
}  // namespace cuda_on_host

template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32, CUDA_LINE) {
    from = cuda_on_host::first(width) | (from & (width - 1));
    return cuda_on_host::shuffled(mask, value, from, "__shfl_sync", line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CUDA_LINE) {
    return cuda_on_host::shuffled(mask, value, cuda_on_host::up(delta, width), "__shfl_up_sync",
                                  line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, CUDA_LINE) {
    return cuda_on_host::shuffled(mask, value, cuda_on_host::down(delta, width),
                                  "__shfl_down_sync", line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, CUDA_LINE) {
    return cuda_on_host::shuffled(mask, value, cuda_on_host::across(lanes, width),
                                  "__shfl_xor_sync", line);
}
inline unsigned __ballot_sync(unsigned mask, int vote, CUDA_LINE) {
    return cuda_on_host::ballot(mask, vote, "__ballot_sync", line);
}
inline int __any_sync(unsigned mask, int vote, CUDA_LINE) {
    return cuda_on_host::ballot(mask, vote, "__any_sync", line) != 0;
}
inline int __all_sync(unsigned mask, int vote, CUDA_LINE) {
    unsigned lanes;
    unsigned votes = cuda_on_host::ballot(mask, vote, "__all_sync", line, &lanes);
    return votes == lanes;
}
inline void __syncwarp(unsigned mask = ~0u, CUDA_LINE) {
    using namespace cuda_on_host;
    leave(meet(mask, 0, "__syncwarp", line, ORDERS_MEMORY));
}
// Which lanes run this together is for a GPU to say. Here each runs by itself, until it meets others.
inline unsigned __activemask() { return 1u << cuda_on_host::here.lane; }
template <class T> CUDA_UNCHECKED unsigned __match_any_sync(unsigned mask, T value, CUDA_LINE) {
    using namespace cuda_on_host;
    uint64_t word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    const Exchange &met = meet(mask, word, "__match_any_sync", line);
    unsigned same = 0;
    for (int lane = 0; lane < 32; ++lane)
        if (met.lanes >> lane & 1 && met.word[lane] == word) same |= 1u << lane;
    leave(met);
    return same;
}
#define CUDA_REDUCE(NAME, STEP)                                                                 \
    template <class T> CUDA_UNCHECKED T __reduce_##NAME##_sync(unsigned mask, T value, CUDA_LINE) { \
        using namespace cuda_on_host;                                                           \
        const Exchange &met = meet(mask, (uint32_t)value, "__reduce_" #NAME "_sync", line);     \
        bool any = false;                                                                       \
        T made = 0;                                                                             \
        for (int lane = 0; lane < 32; ++lane)                                                   \
            if (met.lanes >> lane & 1) {                                                        \
                T next = (T)met.word[lane];                                                     \
                made = any ? (T)(STEP) : next;                                                  \
                any = true;                                                                     \
            }                                                                                   \
        leave(met);                                                                             \
        return made;                                                                            \
    }
CUDA_REDUCE(add, (uint32_t)made + (uint32_t)next)
CUDA_REDUCE(min, next < made ? next : made)
CUDA_REDUCE(max, next > made ? next : made)
CUDA_REDUCE(and, made &next)
CUDA_REDUCE(or, made | next)
CUDA_REDUCE(xor, made ^ next)
