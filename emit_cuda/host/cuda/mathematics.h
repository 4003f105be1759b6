// Functions that CUDA has and math.h does not, and the bits of numbers.
#pragma once
#include "words.h"

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
