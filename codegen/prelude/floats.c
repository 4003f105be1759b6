// Real numbers. Every function here is branch-free arithmetic that the compiler can vectorise.

// The larger number; NaN if either is; of the zeros +0. The second one is taken if they are equal, or
// if it is NaN: only the sign of -0 is not known then, nor whether the first is NaN. Bits are chosen in
// the end, as gcc takes three times as long to compile a loop that chooses nine times among floats.
static inline f32 maximum_f32(f32 x, f32 y) {
  u32 larger = bits_f32(x > y ? x : y);
  larger = larger == 0x80000000 ? bits_f32(x) & 0x80000000 : larger;
  return from_bits_f32(x != x ? bits_f32(x) : larger);
}

static inline f64 maximum_f64(f64 x, f64 y) {
  u64 larger = bits_f64(x > y ? x : y);
  larger = larger == 0x8000000000000000 ? bits_f64(x) & 0x8000000000000000 : larger;
  return from_bits_f64(x != x ? bits_f64(x) : larger);
}

// The smaller number; NaN if either is; of the zeros -0.
static inline f32 minimum_f32(f32 x, f32 y) {
  u32 smaller = bits_f32(x < y ? x : y);
  smaller = smaller == 0 ? bits_f32(x) & 0x80000000 : smaller;
  return from_bits_f32(x != x ? bits_f32(x) : smaller);
}

static inline f64 minimum_f64(f64 x, f64 y) {
  u64 smaller = bits_f64(x < y ? x : y);
  smaller = smaller == 0 ? bits_f64(x) & 0x8000000000000000 : smaller;
  return from_bits_f64(x != x ? bits_f64(x) : smaller);
}

// A product that is rounded before it is added to: see emit_c/kernels/peephole/round_products.py.
static inline $T rounded_$T($T product) {
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
  return __builtin_assoc_barrier(product);
#else
  return product;
#endif
}

static inline f32 clamp_f32(f32 low, f32 x, f32 high) {
  return minimum_f32(maximum_f32(low, x), high);
}

static inline f64 clamp_f64(f64 low, f64 x, f64 high) {
  return minimum_f64(maximum_f64(low, x), high);
}

// -1, 1, or x itself where it is a zero or NaN.
static inline f32 sign_f32(f32 x) {
  return x == 0 || x != x ? x : __builtin_copysignf(1.0f, x);
}

static inline f64 sign_f64(f64 x) {
  return x == 0 || x != x ? x : __builtin_copysign(1.0, x);
}

// Halves away from zero; not floor(x + 1/2), which rounds 0.49999997 to 1.
static inline f32 round_afz_f32(f32 x) {
  f32 whole = __builtin_truncf(x);
  return __builtin_fabsf(x - whole) >= 0.5f ? whole + __builtin_copysignf(1.0f, x) : whole;
}

static inline f64 round_afz_f64(f64 x) {
  f64 whole = __builtin_trunc(x);
  return __builtin_fabs(x - whole) >= 0.5 ? whole + __builtin_copysign(1.0, x) : whole;
}

// The number minus the nearest multiple of `divisor`, which has 24 bits; `reciprocal` is 1 / divisor.
// A fused multiply-add rounds once, so the difference is exact for numbers up to 2^48 divisors; the
// quotient is rounded, so up to 5/8 of the divisor is left. Without it, the difference is exact up to
// 2^26 divisors, where the product of quotient and divisor fits the 53 bits of an f64.
__attribute__((always_inline))
static inline f64 less_multiples(f64 number, f64 divisor, f64 reciprocal) {
#ifdef __FMA__
  return __builtin_fma(-__builtin_rint(number * reciprocal), divisor, number);
#else
  return number - __builtin_rint(number * reciprocal) * divisor;
#endif
}

// The remainder of x / y, with the sign of x. The quotient is below 2^277, or below 2^128 if y is 1
// or more; each step removes its highest 48 or 26 bits, in f64. The C library's loop branches, and so
// runs in no lanes; this code has no branch.
__attribute__((always_inline))
static inline f32 remainder_f32(f32 x, f32 y) {
  f64 size = __builtin_fabsf(y), reciprocal = 1 / size, rest = __builtin_fabsf(x);
  int is_small = __builtin_constant_p(y) && size >= 1;
#ifdef __FMA__
  if (!is_small) {
    rest = less_multiples(rest, size * 0x1p240, reciprocal * 0x1p-240);
    rest = less_multiples(rest, size * 0x1p192, reciprocal * 0x1p-192);
    rest = less_multiples(rest, size * 0x1p144, reciprocal * 0x1p-144);
  }
  rest = less_multiples(rest, size * 0x1p96, reciprocal * 0x1p-96);
  rest = less_multiples(rest, size * 0x1p48, reciprocal * 0x1p-48);
#else
  if (!is_small) {
    rest = less_multiples(rest, size * 0x1p260, reciprocal * 0x1p-260);
    rest = less_multiples(rest, size * 0x1p234, reciprocal * 0x1p-234);
    rest = less_multiples(rest, size * 0x1p208, reciprocal * 0x1p-208);
    rest = less_multiples(rest, size * 0x1p182, reciprocal * 0x1p-182);
    rest = less_multiples(rest, size * 0x1p156, reciprocal * 0x1p-156);
    rest = less_multiples(rest, size * 0x1p130, reciprocal * 0x1p-130);
  }
  rest = less_multiples(rest, size * 0x1p104, reciprocal * 0x1p-104);
  rest = less_multiples(rest, size * 0x1p78, reciprocal * 0x1p-78);
  rest = less_multiples(rest, size * 0x1p52, reciprocal * 0x1p-52);
  rest = less_multiples(rest, size * 0x1p26, reciprocal * 0x1p-26);
#endif
  rest = less_multiples(rest, size, reciprocal);
  f32 remainder = __builtin_copysignf((f32)(rest < 0 ? rest + size : rest), x);
  return size == __builtin_inf() && x - x == 0 ? x : remainder;
}

static inline f64 remainder_f64(f64 x, f64 y) {
  return __builtin_fmod(x, y);
}

// The magnitude of a float, given as its bits, rounded to a format of fewer bits. What is too large
// becomes `infinity`; what is too small for a normal number 0.
static inline u64 reduced_bits(u64 size, int dropped, u64 infinity, u64 too_large, u64 too_small) {
  if (size > infinity) return size;
  if (dropped > 0) {
    u64 odd = size >> dropped & 1;
    size = (size + odd + (((u64)1 << (dropped - 1)) - 1)) >> dropped << dropped;
  }
  if (size >= too_large) size = infinity;
  return size < too_small ? 0 : size;
}

// The extremes of floats are found among integers: their total order, NaN beyond everything.
static inline s32 maximum_key_f32(f32 x) {
  return x != x ? 0x7fffffff : total_order_f32(x);
}

static inline s64 maximum_key_f64(f64 x) {
  return x != x ? 0x7fffffffffffffff : total_order_f64(x);
}

static inline s32 minimum_key_f32(f32 x) {
  return x != x ? -0x7fffffff - 1 : total_order_f32(x);
}

static inline s64 minimum_key_f64(f64 x) {
  return x != x ? -0x7fffffffffffffff - 1 : total_order_f64(x);
}

static inline f32 maximum_of_key_f32(s32 key) {
  return from_bits_f32((u32)ordered_bits_f32(key));
}

static inline f64 maximum_of_key_f64(s64 key) {
  return from_bits_f64((u64)ordered_bits_f64(key));
}

static inline f32 minimum_of_key_f32(s32 key) {
  return maximum_of_key_f32(key);
}

static inline f64 minimum_of_key_f64(s64 key) {
  return maximum_of_key_f64(key);
}

// A sum that OpenMP's lanes do not begin with 0: that makes 0 of sums of -0.
#pragma omp declare reduction(sum_of_floats : f32, f64 : omp_out += omp_in) \
  initializer(omp_priv = -0.0)
