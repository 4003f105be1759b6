// __half and __nv_bfloat16: two bytes in memory, a float when computed with.
#pragma once
#include "vectors.h"
#include "mathematics.h"

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
