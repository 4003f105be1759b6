// Vectors of two, three and four numbers, and the size of a grid.
#pragma once
#include "words.h"

// A vector is loaded by one instruction, so its address must be a multiple of its size.
#define CUDA_VECTORS(NAME, T)                                                                   \
    struct NAME##1 { T x; };                                                                    \
    struct __align__(2 * sizeof(T)) NAME##2 { T x, y; };                                        \
    struct NAME##3 { T x, y, z; };                                                              \
    struct __align__(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };        \
    inline NAME##1 make_##NAME##1(T x) { return {x}; }                                          \
    inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                  \
    inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                          \
    inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDA_VECTORS(char, signed char)
CUDA_VECTORS(uchar, unsigned char)
CUDA_VECTORS(short, short)
CUDA_VECTORS(ushort, unsigned short)
CUDA_VECTORS(int, int)
CUDA_VECTORS(uint, unsigned)
CUDA_VECTORS(long, long)
CUDA_VECTORS(ulong, unsigned long)
CUDA_VECTORS(longlong, long long)
CUDA_VECTORS(ulonglong, unsigned long long)
CUDA_VECTORS(float, float)
CUDA_VECTORS(double, double)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3() const { return {x, y, z}; }
};
