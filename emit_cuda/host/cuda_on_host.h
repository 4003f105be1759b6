// CUDA C on a processor: the names that a .cu file takes for granted, for a compiler of plain C++.
//
// This file is included before the first line of a .cu file, which then compiles as it is. Nothing
// in the .cu file changes, with one exception that C++ asks for: the driver gives `extern
// __shared__` arrays the name of the memory that they all share.
//
//   1  words        __global__, __shared__, ...: where a thing lives, which is no part of C++
//   2  vectors      float4 and its like, dim3
//   3  here         threadIdx, blockIdx, blockDim, gridDim
//   4  barriers     __syncthreads and its kin
//   5  warps        shuffles and votes, which are exchanges of a word between 32 threads
//   6  atomics      one read-modify-write, of which all others are made
//   7  mathematics  functions that CUDA has and math.h does not; bits of numbers
//   8  half         __half and __nv_bfloat16: two bytes in memory, a float when computed with
//   9  loads        __ldg and others, which only say something to the cache
//  10  matrices     nvcuda::wmma, and the `mma` instruction's product
//  11  copies       cp.async, which may be over long after it has begun; ldmatrix
//  12  kernels      how the driver calls them
//
// Threads, barriers and warps are in threads.cpp. The checks of every access in checked mode are in
// checker.cpp.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- 1 words --------------------------------------------------------------------------------
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

// ---- 2 vectors ------------------------------------------------------------------------------
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

// ---- 3 here ---------------------------------------------------------------------------------
namespace cuda_on_host {
struct Here {
    uint3 thread, block, block_size, grid_size;
    unsigned lane;  // in its warp
    int64_t polls;  // until the clock is read again
};
extern __thread Here here;  // set whenever another thread of the kernel goes on
}  // namespace cuda_on_host
#define threadIdx (cuda_on_host::here.thread)
#define blockIdx (cuda_on_host::here.block)
#define blockDim (cuda_on_host::here.block_size)
#define gridDim (cuda_on_host::here.grid_size)
constexpr int warpSize = 32;

// ---- 4 barriers -----------------------------------------------------------------------------
namespace cuda_on_host {
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

// ---- 5 warps --------------------------------------------------------------------------------
// Every operation of a warp is an exchange: each lane that the mask names gives a word, waits for
// the others, and looks at the words of all.
namespace cuda_on_host {
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

// ---- 6 atomics ------------------------------------------------------------------------------
namespace cuda_on_host {
// Whether a word is exchanged for another even if it holds the same value already.
enum Update { READ_MODIFY_WRITE, COMPARE_AND_SWAP };
#ifdef CUDA_ON_HOST_CHECKED
void atomic_access(const volatile void *address, size_t size, Update, int line);
#else
inline void atomic_access(const volatile void *, size_t, Update, int) {}
#endif
template <int BYTES> struct Word;
template <> struct Word<2> { using Type = uint16_t; };
template <> struct Word<4> { using Type = uint32_t; };
template <> struct Word<8> { using Type = uint64_t; };

// Replaces the value at an address by a function of it, in one step; gives the value that was there.
template <class T, class F>
CUDA_UNCHECKED T update(T *address, F next, int line, Update kind = READ_MODIFY_WRITE) {
    atomic_access(address, sizeof(T), kind, line);
#ifdef CUDA_ON_HOST_CHECKED  // on one processor thread, where nobody comes between
    T old = *address;
    *address = next(old);
#else
    using W = typename Word<sizeof(T)>::Type;
    W *place = (W *)address, was = __atomic_load_n(place, __ATOMIC_RELAXED), will;
    T old, made;
    do {
        __builtin_memcpy(&old, &was, sizeof old);
        made = next(old);
        __builtin_memcpy(&will, &made, sizeof will);
    } while (!__atomic_compare_exchange_n(place, &was, will, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
#endif
    return old;
}
// Parameters of this type take no part in the deduction of T.
template <class T> struct Same { using Type = T; };
template <class T> using Like = typename Same<T>::Type;
template <class T> T plus(T x, T y) { return x + y; }
template <> inline int plus(int x, int y) { return (int)((unsigned)x + (unsigned)y); }
template <> inline long long plus(long long x, long long y) {
    return (long long)((unsigned long long)x + (unsigned long long)y);
}
}  // namespace cuda_on_host

#define CUDA_ATOMIC_IN(NAME, SCOPE, NEXT)                                                       \
    template <class T> T NAME##SCOPE(T *address, cuda_on_host::Like<T> value, CUDA_LINE) {      \
        return cuda_on_host::update(address, [=](T old) -> T { return NEXT; }, line);           \
    }
#define CUDA_ATOMIC(NAME, NEXT)            \
    CUDA_ATOMIC_IN(NAME, , NEXT)           \
    CUDA_ATOMIC_IN(NAME, _block, NEXT)     \
    CUDA_ATOMIC_IN(NAME, _system, NEXT)
CUDA_ATOMIC(atomicAdd, cuda_on_host::plus(old, value))
CUDA_ATOMIC(atomicSub, (T)(0u + old - value))
CUDA_ATOMIC(atomicExch, ((void)old, value))
CUDA_ATOMIC(atomicMin, value < old ? value : old)
CUDA_ATOMIC(atomicMax, value > old ? value : old)
CUDA_ATOMIC(atomicAnd, old &value)
CUDA_ATOMIC(atomicOr, old | value)
CUDA_ATOMIC(atomicXor, old ^ value)
CUDA_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
CUDA_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
template <class T>
T atomicCAS(T *address, cuda_on_host::Like<T> expected, cuda_on_host::Like<T> value, CUDA_LINE) {
    return cuda_on_host::update(
        address,
        [=](T old) -> T {
            return __builtin_memcmp(&old, &expected, sizeof(T)) ? old : value;
        },
        line, cuda_on_host::COMPARE_AND_SWAP);
}
template <class T>
T atomicCAS_block(T *address, cuda_on_host::Like<T> expected, cuda_on_host::Like<T> value,
                  CUDA_LINE) {
    return atomicCAS(address, expected, value, line);
}

// ---- 7 mathematics --------------------------------------------------------------------------
namespace cuda_on_host {
template <class To, class From> inline To bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To made;
    __builtin_memcpy(&made, &value, sizeof made);
    return made;
}
// The value of a number in an integer type: out of range it is the nearest there is, NaN is `nan`.
template <class I, class F> inline I saturated(F x, I nan) {
    constexpr I most = (I)-1 < 0 ? (I)(((uint64_t)1 << (8 * sizeof(I) - 1)) - 1) : (I)-1;
    constexpr I least = (I)-1 < 0 ? (I)(-most - 1) : (I)0;
    if (x != x) return nan;
    if (x >= (F)most) return most;
    return x <= (F)least ? least : (I)x;
}
}  // namespace cuda_on_host

inline int __float_as_int(float x) { return cuda_on_host::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return cuda_on_host::bits<unsigned>(x); }
inline float __int_as_float(int x) { return cuda_on_host::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return cuda_on_host::bits<float>(x); }
inline long long __double_as_longlong(double x) { return cuda_on_host::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return cuda_on_host::bits<double>(x); }
inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((uint64_t)(unsigned)high << 32 | (unsigned)low));
}

// To integers, rounded to nearest, toward zero, down and up.
#define CUDA_TO_INTEGER(FROM, F, TO, I, NAN_IS)                                                     \
    inline I __##FROM##2##TO##_rn(F x) { return cuda_on_host::saturated<I>(rint(x), (I)NAN_IS); }   \
    inline I __##FROM##2##TO##_rz(F x) { return cuda_on_host::saturated<I>(trunc(x), (I)NAN_IS); }  \
    inline I __##FROM##2##TO##_rd(F x) { return cuda_on_host::saturated<I>(floor(x), (I)NAN_IS); }  \
    inline I __##FROM##2##TO##_ru(F x) { return cuda_on_host::saturated<I>(ceil(x), (I)NAN_IS); }
CUDA_TO_INTEGER(float, float, int, int, 0)
CUDA_TO_INTEGER(float, float, uint, unsigned, 0)
CUDA_TO_INTEGER(float, float, ll, long long, 1ull << 63)
CUDA_TO_INTEGER(float, float, ull, unsigned long long, 1ull << 63)
CUDA_TO_INTEGER(double, double, int, int, 0)
CUDA_TO_INTEGER(double, double, uint, unsigned, 0)
CUDA_TO_INTEGER(double, double, ll, long long, 1ull << 63)
CUDA_TO_INTEGER(double, double, ull, unsigned long long, 1ull << 63)
inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline float __ll2float_rn(long long x) { return (float)x; }
inline float __ull2float_rn(unsigned long long x) { return (float)x; }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return (double)x; }
inline double __ull2double_rn(unsigned long long x) { return (double)x; }
inline float __double2float_rn(double x) { return (float)x; }

// Bits of integers.
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline unsigned long long __brevll(unsigned long long x) {
    unsigned long long made = 0;
    for (int i = 0; i < 64; ++i) made |= (x >> i & 1) << (63 - i);
    return made;
}
inline unsigned __brev(unsigned x) { return (unsigned)(__brevll(x) >> 32); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((uint64_t)high << 32 | low) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (n & 31));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned choice) {
    unsigned made = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned nibble = choice >> 4 * i & 0xf;
        unsigned byte = (unsigned)(((uint64_t)y << 32 | x) >> 8 * (nibble & 7)) & 0xff;
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
        made |= byte << 8 * i;
    }
    return made;
}
inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((uint64_t)x * y >> 32); }
inline long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
inline int __dp4a(int x, int y, int sum) {
    for (int i = 0; i < 4; ++i) sum += (int)(int8_t)(x >> 8 * i) * (int8_t)(y >> 8 * i);
    return sum;
}
inline unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
    for (int i = 0; i < 4; ++i) sum += (x >> 8 * i & 0xff) * (y >> 8 * i & 0xff);
    return sum;
}

// Numbers: glibc has functions of some of these names, so macros take the names first.
#define CUDA_ALSO_FLOAT(NAME) inline float NAME##f(float x) { return (float)NAME((double)x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float rsqrtf(float x) { return (float)(1 / sqrt((double)x)); }
inline double rcbrt(double x) { return 1 / cbrt(x); }
inline double sinpi(double x) {
    double r = fmod(fabs(x), 2.0);
    double s = r <= 0.25 ? sin(M_PI * r) : r <= 0.75 ? cos(M_PI * (r - 0.5))
             : r <= 1.25 ? -sin(M_PI * (r - 1)) : r <= 1.75 ? -cos(M_PI * (r - 1.5))
                                                            : sin(M_PI * (r - 2));
    return copysign(1.0, x) * s;
}
inline double cospi(double x) { return sinpi(fmod(fabs(x), 2.0) + 0.5); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline double rhypot(double x, double y) { return 1 / hypot(x, y); }
CUDA_ALSO_FLOAT(rcbrt)
CUDA_ALSO_FLOAT(sinpi)
CUDA_ALSO_FLOAT(cospi)
CUDA_ALSO_FLOAT(normcdf)
inline void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
inline void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, s, c) sincosf(x, s, c)
#define __fdividef(x, y) ((float)(x) / (float)(y))
#define __fdiv_rn(x, y) ((float)(x) / (float)(y))
#define __ddiv_rn(x, y) ((double)(x) / (double)(y))
#define __frcp_rn(x) (1 / (float)(x))
#define __frsqrt_rn(x) rsqrtf(x)
#define __fsqrt_rn(x) sqrtf(x)
#define __dsqrt_rn(x) sqrt(x)
#define __fadd_rn(x, y) ((float)(x) + (float)(y))
#define __fsub_rn(x, y) ((float)(x) - (float)(y))
#define __fmul_rn(x, y) ((float)(x) * (float)(y))
#define __dadd_rn(x, y) ((double)(x) + (double)(y))
#define __dsub_rn(x, y) ((double)(x) - (double)(y))
#define __dmul_rn(x, y) ((double)(x) * (double)(y))
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define __fma_rn(x, y, z) fma(x, y, z)

// The smaller and the larger; of floating-point numbers, the one that is a number.
#define CUDA_MIN_MAX(T)                                       \
    inline T min(T x, T y) { return y < x ? y : x; }          \
    inline T max(T x, T y) { return x < y ? y : x; }
CUDA_MIN_MAX(int)
CUDA_MIN_MAX(unsigned)
CUDA_MIN_MAX(long)
CUDA_MIN_MAX(unsigned long)
CUDA_MIN_MAX(long long)
CUDA_MIN_MAX(unsigned long long)
inline float min(float x, float y) { return fminf(x, y); }
inline float max(float x, float y) { return fmaxf(x, y); }
inline double min(double x, double y) { return fmin(x, y); }
inline double max(double x, double y) { return fmax(x, y); }
inline unsigned umin(unsigned x, unsigned y) { return y < x ? y : x; }
inline unsigned umax(unsigned x, unsigned y) { return x < y ? y : x; }
inline long long llmin(long long x, long long y) { return y < x ? y : x; }
inline long long llmax(long long x, long long y) { return x < y ? y : x; }

inline long long clock64() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}
#define clock() ((int)clock64())

// ---- 8 half ---------------------------------------------------------------------------------
namespace cuda_on_host {
// To the narrower float of which no digit is lost that rounding could see: the last bit is set
// where others were cut off. Rounded once more, this is the rounded double.
inline float rounded_to_odd(double x) {
    float near = (float)x;
    if ((double)near == x || x != x) return near;
    uint32_t word = bits<uint32_t>(near);
    if (fabs((double)near) > fabs(x)) --word;
    return bits<float>(word | 1);
}
inline uint16_t half_of(float x) {
    uint32_t word = bits<uint32_t>(x), sign = word >> 16 & 0x8000, size = word & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7fff);      // NaN, as a GPU writes it
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);     // rounds to infinity
    if (size < 0x38800000)                                        // subnormal: multiples of 2^-24
        return (uint16_t)(sign | (uint32_t)rintf(bits<float>(size) * 0x1p24f));
    size += 0xfff + (size >> 13 & 1);
    return (uint16_t)(sign | ((size - 0x38000000) >> 13));
}
inline float float_of_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, size = half & 0x7fff;
    if (size < 0x400) return bits<float>(sign | bits<uint32_t>((float)size * 0x1p-24f));
    return bits<float>(sign | ((size << 13) + (size >= 0x7c00 ? 0x70000000 : 0x38000000)));
}
inline uint16_t bfloat16_of(float x) {
    uint32_t word = bits<uint32_t>(x);
    if (x != x) return 0x7fff;
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}
inline float float_of_bfloat16(uint16_t bfloat16) { return bits<float>((uint32_t)bfloat16 << 16); }
// `max.NaN` and `min.NaN` of inline PTX: +0 is larger than -0.
inline void max_or_nan(float &to, float x, float y) {
    if (x != x || y != y) to = bits<float>(0x7fffffffu);
    else to = x > y || (x == y && !__builtin_signbit(x)) ? x : y;
}
inline void min_or_nan(float &to, float x, float y) {
    if (x != x || y != y) to = bits<float>(0x7fffffffu);
    else to = x < y || (x == y && __builtin_signbit(x)) ? x : y;
}
// `rcp.approx` of inline PTX, as near as it gets; with `.ftz`, subnormal numbers are zeros.
inline void reciprocal(float &to, float x, bool flushes) {
    float value = 1.0f / (flushes && fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x);
    to = flushes && fabsf(value) < 0x1p-126f ? copysignf(0.0f, value) : value;
}
// `cvt` of inline PTX.
inline void to_f16(uint16_t &to, float from) { to = half_of(from); }
inline void to_bf16(uint16_t &to, float from) { to = bfloat16_of(from); }
inline void from_f16(float &to, uint16_t from) { to = float_of_half(from); }
inline void from_bf16(float &to, uint16_t from) { to = float_of_bfloat16(from); }
template <class T> struct Rounded { static float once(T x) { return rounded_to_odd((double)x); } };
template <> struct Rounded<float> { static float once(float x) { return x; } };
}  // namespace cuda_on_host

// Both types have the same functions, under names with `half` or `bfloat16` in them.
#define CUDA_HALF(T, WORD, NAME, FROM, TO)                                                           \
    struct T##_raw { unsigned short x; };                                                            \
    struct T {                                                                                       \
        unsigned short word;                                                                         \
        T() = default;                                                                               \
        T(T##_raw raw) : word(raw.x) {}                                                              \
        template <class N, class = decltype((double)N())>                                            \
        T(N x) : word(cuda_on_host::FROM(cuda_on_host::Rounded<N>::once(x))) {}                      \
        operator float() const { return cuda_on_host::TO(word); }                                    \
        operator T##_raw() const { return {word}; }                                                  \
        T &operator+=(T y) { return *this = T((float)*this + (float)y); }                            \
        T &operator-=(T y) { return *this = T((float)*this - (float)y); }                            \
        T &operator*=(T y) { return *this = T((float)*this * (float)y); }                            \
        T &operator/=(T y) { return *this = T((float)*this / (float)y); }                            \
    };                                                                                               \
    inline T operator+(T x, T y) { return T((float)x + (float)y); }                                  \
    inline T operator-(T x, T y) { return T((float)x - (float)y); }                                  \
    inline T operator*(T x, T y) { return T((float)x * (float)y); }                                  \
    inline T operator/(T x, T y) { return T((float)x / (float)y); }                                  \
    inline T operator-(T x) { return T(T##_raw{(unsigned short)(x.word ^ 0x8000)}); }                \
    inline bool operator==(T x, T y) { return (float)x == (float)y; }                                \
    inline bool operator!=(T x, T y) { return (float)x != (float)y; }                                \
    inline bool operator<(T x, T y) { return (float)x < (float)y; }                                  \
    inline bool operator<=(T x, T y) { return (float)x <= (float)y; }                                \
    inline bool operator>(T x, T y) { return (float)x > (float)y; }                                  \
    inline bool operator>=(T x, T y) { return (float)x >= (float)y; }                                \
    inline T __float2##NAME(float x) { return T(x); }                                                \
    inline T __float2##NAME##_rn(float x) { return T(x); }                                           \
    inline T __double2##NAME(double x) { return T(x); }                                              \
    inline T __int2##NAME##_rn(int x) { return T(x); }                                               \
    inline T __uint2##NAME##_rn(unsigned x) { return T(x); }                                         \
    inline T __ll2##NAME##_rn(long long x) { return T(x); }                                          \
    inline T __ull2##NAME##_rn(unsigned long long x) { return T(x); }                                \
    inline float __##WORD##2float(T x) { return x; }                                                 \
    inline int __##WORD##2int_rn(T x) { return __float2int_rn(x); }                                  \
    inline int __##WORD##2int_rz(T x) { return __float2int_rz(x); }                                  \
    inline unsigned short __##NAME##_as_ushort(T x) { return x.word; }                               \
    inline short __##NAME##_as_short(T x) { return (short)x.word; }                                  \
    inline T __ushort_as_##NAME(unsigned short x) { return T(T##_raw{x}); }                          \
    inline T __short_as_##NAME(short x) { return T(T##_raw{(unsigned short)x}); }                    \
    inline T __hadd(T x, T y) { return x + y; }                                                      \
    inline T __hsub(T x, T y) { return x - y; }                                                      \
    inline T __hmul(T x, T y) { return x * y; }                                                      \
    inline T __hdiv(T x, T y) { return x / y; }                                                      \
    inline T __hneg(T x) { return -x; }                                                              \
    inline T __habs(T x) { return T(T##_raw{(unsigned short)(x.word & 0x7fff)}); }                   \
    inline T __hfma(T x, T y, T z) { return T(fma((double)x, (double)y, (double)z)); }               \
    inline T __hmin(T x, T y) { return T(fminf(x, y)); }                                             \
    inline T __hmax(T x, T y) { return T(fmaxf(x, y)); }                                             \
    inline T __hmin_nan(T x, T y) { return x != x ? x : y != y ? y : T(fminf(x, y)); }               \
    inline T __hmax_nan(T x, T y) { return x != x ? x : y != y ? y : T(fmaxf(x, y)); }               \
    inline bool __heq(T x, T y) { return x == y; }                                                   \
    inline bool __hne(T x, T y) { return x < y || y < x; }                                           \
    inline bool __hlt(T x, T y) { return x < y; }                                                    \
    inline bool __hle(T x, T y) { return x <= y; }                                                   \
    inline bool __hgt(T x, T y) { return x > y; }                                                    \
    inline bool __hge(T x, T y) { return x >= y; }                                                   \
    inline bool __hisnan(T x) { return x != x; }                                                     \
    inline int __hisinf(T x) { return isinf((float)x) ? ((float)x < 0 ? -1 : 1) : 0; }               \
    inline T hexp(T x) { return T(exp((double)(float)x)); }                                          \
    inline T hlog(T x) { return T(log((double)(float)x)); }                                          \
    inline T hsqrt(T x) { return T(sqrt((double)(float)x)); }                                        \
    inline T hrsqrt(T x) { return T(rsqrt((double)(float)x)); }                                      \
    inline T hsin(T x) { return T(sin((double)(float)x)); }                                          \
    inline T hcos(T x) { return T(cos((double)(float)x)); }                                          \
    inline T htanh(T x) { return T(tanh((double)(float)x)); }                                        \
    inline T hrcp(T x) { return T(1 / (double)(float)x); }                                           \
    inline T hfloor(T x) { return T(floorf(x)); }                                                    \
    inline T hceil(T x) { return T(ceilf(x)); }                                                      \
    inline T htrunc(T x) { return T(truncf(x)); }                                                    \
    inline T hrint(T x) { return T(rintf(x)); }                                                      \
    struct __align__(4) T##2 {                                                                       \
        T x, y;                                                                                      \
        T##2() = default;                                                                            \
        T##2(T x, T y) : x(x), y(y) {}                                                               \
    };                                                                                               \
    inline T##2 __halves2##NAME##2(T x, T y) { return {x, y}; }                                      \
    inline T##2 __floats2##NAME##2_rn(float x, float y) { return {T(x), T(y)}; }                     \
    inline T##2 __float22##NAME##2_rn(float2 v) { return {T(v.x), T(v.y)}; }                         \
    inline T##2 __float2##NAME##2_rn(float x) { return {T(x), T(x)}; }                               \
    inline float2 __##WORD##22float2(T##2 v) { return {(float)v.x, (float)v.y}; }                    \
    inline T __low2##NAME(T##2 v) { return v.x; }                                                    \
    inline T __high2##NAME(T##2 v) { return v.y; }                                                   \
    inline float __low2float(T##2 v) { return v.x; }                                                 \
    inline float __high2float(T##2 v) { return v.y; }                                                \
    inline T##2 operator+(T##2 x, T##2 y) { return {x.x + y.x, x.y + y.y}; }                         \
    inline T##2 operator-(T##2 x, T##2 y) { return {x.x - y.x, x.y - y.y}; }                         \
    inline T##2 operator*(T##2 x, T##2 y) { return {x.x * y.x, x.y * y.y}; }                         \
    inline T##2 operator/(T##2 x, T##2 y) { return {x.x / y.x, x.y / y.y}; }                         \
    inline T##2 __hadd2(T##2 x, T##2 y) { return x + y; }                                            \
    inline T##2 __hsub2(T##2 x, T##2 y) { return x - y; }                                            \
    inline T##2 __hmul2(T##2 x, T##2 y) { return x * y; }                                            \
    inline T##2 __hfma2(T##2 x, T##2 y, T##2 z) {                                                    \
        return {__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)};                                       \
    }                                                                                                \
    inline T##2 __hmax2(T##2 x, T##2 y) { return {__hmax(x.x, y.x), __hmax(x.y, y.y)}; }             \
    inline T##2 __hmin2(T##2 x, T##2 y) { return {__hmin(x.x, y.x), __hmin(x.y, y.y)}; }
CUDA_HALF(__half, half, half, half_of, float_of_half)
CUDA_HALF(__nv_bfloat16, bfloat16, bfloat16, bfloat16_of, float_of_bfloat16)
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
inline half2 make_half2(half x, half y) { return {x, y}; }
inline nv_bfloat162 make_bfloat162(nv_bfloat16 x, nv_bfloat16 y) { return {x, y}; }

// ---- 9 loads --------------------------------------------------------------------------------
template <class T> inline T __ldg(const T *address) { return *address; }
template <class T> inline T __ldca(const T *address) { return *address; }
template <class T> inline T __ldcg(const T *address) { return *address; }
template <class T> inline T __ldcs(const T *address) { return *address; }
template <class T> inline T __ldlu(const T *address) { return *address; }
template <class T> inline T __ldcv(const T *address) { return *(const volatile T *)address; }
template <class T> inline void __stwb(T *address, T value) { *address = value; }
template <class T> inline void __stcg(T *address, T value) { *address = value; }
template <class T> inline void __stcs(T *address, T value) { *address = value; }
template <class T> inline void __stwt(T *address, T value) { *address = value; }
inline void __nanosleep(unsigned) {}
// The handle of a graph's condition is the address of its value.
extern "C" CUDA_UNCHECKED inline void cudaGraphSetConditional(unsigned long long handle, unsigned value) {
    *(unsigned *)handle = value;
}

// ---- 10 matrices ----------------------------------------------------------------------------
// A warp holds a matrix between its lanes. Which lane holds which element is the GPU's secret in
// wmma; here, lane k of an m x n matrix holds elements k * mn / 32 onward, row by row. In a
// product, every lane looks at the fragments of all others, which wait for it.
namespace nvcuda { namespace wmma {
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
namespace precision { struct tf32 {}; }
enum layout_t { mem_row_major, mem_col_major };
template <class T> struct Held { using Type = T; };
template <> struct Held<precision::tf32> { using Type = float; };

template <class Use, int M, int N, int K> struct Extent;
template <int M, int N, int K> struct Extent<matrix_a, M, N, K> { enum { rows = M, columns = K }; };
template <int M, int N, int K> struct Extent<matrix_b, M, N, K> { enum { rows = K, columns = N }; };
template <int M, int N, int K> struct Extent<accumulator, M, N, K> { enum { rows = M, columns = N }; };

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    enum { rows = Extent<Use, M, N, K>::rows, columns = Extent<Use, M, N, K>::columns };
    enum { num_elements = rows * columns / 32 };
    typename Held<T>::Type x[num_elements];
};
inline float __float_to_tf32(float x) {
    uint32_t word = cuda_on_host::bits<uint32_t>(x);
    return x != x ? x : cuda_on_host::bits<float>((word + 0x1000) & ~0x1fffu);  // ties away from 0
}
template <class F, class T> void fill_fragment(F &f, const T &value) {
    for (int i = 0; i < F::num_elements; ++i) f.x[i] = value;
}
template <class F> int offset_of(int i, unsigned stride, bool by_columns) {
    int element = cuda_on_host::here.lane * F::num_elements + i;
    int row = element / F::columns, column = element % F::columns;
    return by_columns ? column * stride + row : row * stride + column;
}
template <class L> struct ByColumns { enum { value = 0 }; };
template <> struct ByColumns<col_major> { enum { value = 1 }; };
template <class U, int M, int N, int K, class T, class L, class P>
void load_matrix_sync(fragment<U, M, N, K, T, L> &f, const P *from, unsigned stride, CUDA_LINE) {
    using F = fragment<U, M, N, K, T, L>;
    __syncwarp(~0u, line);
    for (int i = 0; i < F::num_elements; ++i)
        f.x[i] = from[offset_of<F>(i, stride, ByColumns<L>::value)];
}
template <int M, int N, int K, class T>
void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *from, unsigned stride,
                      layout_t layout, CUDA_LINE) {
    using F = fragment<accumulator, M, N, K, T>;
    __syncwarp(~0u, line);
    for (int i = 0; i < F::num_elements; ++i)
        f.x[i] = from[offset_of<F>(i, stride, layout == mem_col_major)];
}
template <int M, int N, int K, class T>
void store_matrix_sync(T *to, const fragment<accumulator, M, N, K, T> &f, unsigned stride,
                       layout_t layout, CUDA_LINE) {
    using F = fragment<accumulator, M, N, K, T>;
    __syncwarp(~0u, line);
    for (int i = 0; i < F::num_elements; ++i)
        to[offset_of<F>(i, stride, layout == mem_col_major)] = f.x[i];
}
template <class F> CUDA_UNCHECKED auto element(const cuda_on_host::Exchange &met, int row, int column) {
    int index = row * F::columns + column;
    return ((const F *)met.word[index / F::num_elements])->x[index % F::num_elements];
}
template <class D, class A, class B, class C>
CUDA_UNCHECKED void mma_sync(D &d, const A &a, const B &b, const C &c, CUDA_LINE) {
    using namespace cuda_on_host;
    const Exchange &as = meet(~0u, (uint64_t)&a, "mma_sync", line);
    const A *all_a[32];
    for (int i = 0; i < 32; ++i) all_a[i] = (const A *)as.word[i];
    leave(as);
    const Exchange &bs = meet(~0u, (uint64_t)&b, "mma_sync", line);
    D made;
    for (int i = 0; i < D::num_elements; ++i) {
        int place = here.lane * D::num_elements + i, row = place / D::columns;
        auto sum = c.x[i] + 0;
        for (int k = 0; k < A::columns; ++k) {
            int at = row * A::columns + k;
            sum += (decltype(sum))all_a[at / A::num_elements]->x[at % A::num_elements] *
                   (decltype(sum))element<B>(bs, k, place % D::columns);
        }
        made.x[i] = sum;
    }
    leave(bs);
    leave(meet(~0u, 0, "mma_sync", line));  // nobody changes a fragment that others still read
    d = made;
}
}}  // namespace nvcuda::wmma

// The instruction `mma.sync.aligned.m16n8k*.row.col` of PTX, which says what lane holds an element.
// Four lanes share a row of the left operand and of the result, or a column of the right one; each
// holds neighbours that fill a register, and then those `4 * each` further.
namespace cuda_on_host {
template <int BITS, class T> struct MmaType {
    using Sum = T;
    static constexpr int each = 32 / BITS;  // elements of a register
};
struct f32 : MmaType<32, float> {
    static float value(uint32_t word) { return bits<float>(word); }
};
struct s32 : MmaType<32, int64_t> {
    static int64_t value(uint32_t word) { return (int32_t)word; }
};
struct tf32 : MmaType<32, float> {
    static float value(uint32_t word) { return bits<float>(word & ~0x1fffu); }
};
struct f16 : MmaType<16, float> {
    static float value(uint32_t word) { return float_of_half((uint16_t)word); }
    static uint32_t word(float x) { return half_of(x); }
};
struct bf16 : MmaType<16, float> {
    static float value(uint32_t word) { return float_of_bfloat16((uint16_t)word); }
    static uint32_t word(float x) { return bfloat16_of(x); }
};
struct s8 : MmaType<8, int64_t> { static int64_t value(uint32_t word) { return (int8_t)word; } };
struct u8 : MmaType<8, int64_t> { static int64_t value(uint32_t word) { return (uint8_t)word; } };
struct s4 : MmaType<4, int64_t> { static int64_t value(uint32_t word) { return (int8_t)(word << 4) >> 4; } };
struct u4 : MmaType<4, int64_t> { static int64_t value(uint32_t word) { return word & 15; } };
struct e5m2 : MmaType<8, float> {
    static float value(uint32_t word) { return float_of_half((uint16_t)(word << 8)); }
};
struct e4m3 : MmaType<8, float> {  // without infinities: only the largest word is NaN
    static float value(uint32_t word) {
        int size = word & 0x7f, exponent = size >> 3;
        float x = size == 0x7f ? NAN : exponent ? ldexpf(8 + (size & 7), exponent - 10) : ldexpf(size, -9);
        return word & 0x80 ? -x : x;
    }
};
// Element k of those that begin in lane `first`.
template <class T> typename T::Sum held(const uint32_t *const *lanes, int first, int number, int k) {
    constexpr int each = T::each, four = 4 * each;
    return T::value(lanes[first + k % four / each][number] >> 32 / each * (k % each));
}
template <class T> uint32_t stored(int64_t x, bool saturates) {
    return !saturates ? (uint32_t)x : x > INT32_MAX ? (uint32_t)INT32_MAX : x < INT32_MIN ? (uint32_t)INT32_MIN : (uint32_t)x;
}
template <class T> uint32_t stored(float x, bool) { return T::each == 2 ? half_of(x) : bits<uint32_t>(x); }
template <int N> struct Registers { uint32_t word[N]; };
template <class... R> CUDA_UNCHECKED Registers<sizeof...(R)> registers(const R &...r) {
    return {{bits<uint32_t>(r)...}};
}
template <int K, class D, class A, class B, class C, int NA, int NB, int NC, class... R>
CUDA_UNCHECKED void mma(const Registers<NA> &a, const Registers<NB> &b, const Registers<NC> &c,
                        bool saturates, int line, R &...result) {
    static_assert(NA == 16 * K / 32 / A::each && NB == 8 * K / 32 / B::each && NC == 4 / C::each &&
                      sizeof...(R) == 4 / D::each, "as many registers as the instruction has");
    const uint32_t *as[32], *bs[32];
    const Exchange &left = meet(~0u, (uint64_t)a.word, "mma.sync", line);
    memcpy(as, left.word, sizeof as);
    leave(left);
    const Exchange &right = meet(~0u, (uint64_t)b.word, "mma.sync", line);
    memcpy(bs, right.word, sizeof bs);
    leave(right);
    uint32_t made[4] = {};
    for (int i = 0; i < 4; ++i) {
        int row = here.lane / 4, column = here.lane % 4 * 2 + i % 2;
        typename D::Sum sum = C::value(c.word[i / C::each] >> (C::each == 2 ? 16 * (i % 2) : 0));
        for (int k = 0; k < K; ++k)
            sum += held<A>(as, row * 4, i / 2 + k / (4 * A::each) * 2, k) *
                   held<B>(bs, column * 4, k / (4 * B::each), k);
        made[i / D::each] |= stored<D>(sum, saturates) << (D::each == 2 ? 16 * (i % 2) : 0);
    }
    leave(meet(~0u, 0, "mma.sync", line));  // nobody changes registers that others still read
    int number = 0;
    ((void)memcpy(&result, &made[number++], 4), ...);
}
}  // namespace cuda_on_host

// ---- 11 copies ------------------------------------------------------------------------------
// An asynchronous copy is done as late as possible: when its thread waits for it. A thread that
// reads earlier gets the old bytes, and checked mode sees the race.
namespace cuda_on_host {
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

// ---- 12 kernels -----------------------------------------------------------------------------
// The driver ends the file with a table of its kernels, which is all that Python sees of it.
namespace cuda_on_host {
struct Parameter { int bytes, kind; };  // kind: 0 integer, 1 pointer, 2 float or double, 3 other
template <class T> struct KindOf { enum { value = 3 }; };
template <class T> struct KindOf<T *> { enum { value = 1 }; };
#define CUDA_KIND(T, KIND) template <> struct KindOf<T> { enum { value = KIND }; };
CUDA_KIND(bool, 0) CUDA_KIND(char, 0) CUDA_KIND(signed char, 0) CUDA_KIND(unsigned char, 0)
CUDA_KIND(short, 0) CUDA_KIND(unsigned short, 0) CUDA_KIND(int, 0) CUDA_KIND(unsigned, 0)
CUDA_KIND(long, 0) CUDA_KIND(unsigned long, 0) CUDA_KIND(long long, 0)
CUDA_KIND(unsigned long long, 0) CUDA_KIND(float, 2) CUDA_KIND(double, 2)

template <int... I> struct Places {};
template <int N, int... I> struct Counted : Counted<N - 1, N - 1, I...> {};
template <int... I> struct Counted<0, I...> { using Type = Places<I...>; };

template <auto KERNEL> struct Call;
template <class... A, void (*KERNEL)(A...)> struct Call<KERNEL> {
    static constexpr int count = sizeof...(A);
    static constexpr Parameter parameters[] = {{(int)sizeof(A), KindOf<A>::value}..., {0, 0}};
    template <int... I> static CUDA_UNCHECKED void with(void **arguments, Places<I...>) {
        KERNEL(*(A *)arguments[I]...);
    }
    static void run(void **arguments) { with(arguments, typename Counted<sizeof...(A)>::Type()); }
};
struct Kernel {
    const char *name;
    void (*run)(void **arguments);
    const Parameter *parameters;
    int count;
};
// `cvt`, `add`, `sub`, `mul`, `max.NaN` and `min.NaN` of inline PTX for two numbers of 16 bits in a word.
// As a float has more than twice their digits, to round twice is to round once.
template <class T> void to_pair(uint32_t &to, float high, float low) {
    to = T::word(high) << 16 | T::word(low);
}
template <class T, class F> void each_of_pairs(uint32_t &to, uint32_t x, uint32_t y, F operation) {
    float high = operation(T::value(x >> 16), T::value(y >> 16));
    to_pair<T>(to, high, operation(T::value(x), T::value(y)));
}
#define CUDA_PAIRS(NAME, VALUE)                                                                      \
    template <class T> void NAME##_pairs(uint32_t &to, uint32_t x, uint32_t y) {                     \
        each_of_pairs<T>(to, x, y, [](float a, float b) { float made; VALUE; return made; });        \
    }
CUDA_PAIRS(add, made = a + b)
CUDA_PAIRS(sub, made = a - b)
CUDA_PAIRS(mul, made = a * b)
CUDA_PAIRS(max, max_or_nan(made, a, b))
CUDA_PAIRS(min, min_or_nan(made, a, b))
#undef CUDA_PAIRS
}  // namespace cuda_on_host
#define CUDA_KERNEL(NAME, K)                                                            \
    {NAME, cuda_on_host::Call<K>::run, cuda_on_host::Call<K>::parameters, cuda_on_host::Call<K>::count}
