// Asynchronous copies to shared memory, and `ldmatrix`.
#pragma once
#include "warps.h"

// An asynchronous copy is done as late as possible: when its thread waits for it. A thread that
// reads earlier gets the old bytes, and checked mode sees the race.
namespace cuda_on_host {
CUDA_UNCHECKED inline char *shared_at(uint32_t place) {
    return (char *)(shared_place + (int32_t)(place - (uint32_t)shared_place));
}
CUDA_UNCHECKED inline void copy_async(uint32_t to, const void *from, int size, int bytes) {
    begin_copy({shared_at(to), from, size, bytes});
}
__forceinline__ void wait_for_copies(unsigned but_for) {
    for (Copy copy; finished_copy(but_for, copy);) {
        if (copy.size == 16 && copy.bytes == 16)
            *(uint4 *)copy.to = *(const uint4 *)copy.from;
        else
            for (int i = 0; i < copy.size; ++i)
                ((char *)copy.to)[i] = i < copy.bytes ? ((const char *)copy.from)[i] : 0;
    }
}
inline void wait_for_all_copies() {
    end_copies();
    wait_for_copies(0);
}
// Matrices of 8 rows of 16 bytes, of whose rows the lanes tell the places: lane 8 m + r that of row
// r of matrix m. Each lane gets 4 bytes of row `lane / 4`, or of a column of 2-byte elements.
struct Rows { uint64_t of[32]; };
CUDA_UNCHECKED inline Rows rows_of_warp(uint32_t place, int line) {
    Rows rows;
    const Exchange &met = meet(~0u, (uint64_t)shared_at(place), "ldmatrix", line);
    memcpy(rows.of, met.word, sizeof rows.of);
    leave(met);
    return rows;
}
template <bool TURNED> __forceinline__ uint32_t word_of_lane(const uint64_t *rows) {
    int high = here.lane / 4, low = here.lane % 4;
    if (!TURNED) return ((const uint32_t *)rows[high])[low];
    uint32_t next = ((const uint16_t *)rows[2 * low + 1])[high];
    return ((const uint16_t *)rows[2 * low])[high] | next << 16;
}
template <bool TURNED, class... R>
__forceinline__ void ldmatrix(uint32_t place, int line, R &...result) {
    Rows rows = rows_of_warp(place, line);
    int matrix = 0;
    ((result = word_of_lane<TURNED>(rows.of + 8 * matrix++)), ...);
}
}  // namespace cuda_on_host
CUDA_UNCHECKED inline size_t __cvta_generic_to_shared(const void *address) {
    return cuda_on_host::shared_place = (uintptr_t)address;
}
