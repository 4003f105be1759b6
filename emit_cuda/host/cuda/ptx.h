// Instructions of inline PTX, which inline_ptx.py turns into calls: numbers, pairs of them, `mma`.
#pragma once
#include "half.h"
#include "warps.h"

namespace cuda_on_host {
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

// The types of a matrix's elements, and how many of them a register holds.
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

// The instruction `mma.sync.aligned.m16n8k*.row.col` of PTX, which says what lane holds an element.
// Four lanes share a row of the left operand and of the result, or a column of the right one; each
// holds neighbours that fill a register, and then those `4 * each` further.

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
