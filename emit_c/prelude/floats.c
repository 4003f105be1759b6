// Real numbers. Every function here is branch-free arithmetic that the compiler can vectorise, if
// it is inlined: so the long ones must be.

// The larger number; NaN if either is; of the zeros +0, whose bits are those that both have.
static inline f32 maximum_f32(f32 x, f32 y) {
  f32 larger = x > y || x != x ? x : y;
  return x == y ? from_bits_f32(bits_f32(x) & bits_f32(y)) : larger;
}

static inline f64 maximum_f64(f64 x, f64 y) {
  f64 larger = x > y || x != x ? x : y;
  return x == y ? from_bits_f64(bits_f64(x) & bits_f64(y)) : larger;
}

// The smaller number; NaN if either is; of the zeros -0.
static inline f32 minimum_f32(f32 x, f32 y) {
  f32 smaller = x < y || x != x ? x : y;
  return x == y ? from_bits_f32(bits_f32(x) | bits_f32(y)) : smaller;
}

static inline f64 minimum_f64(f64 x, f64 y) {
  f64 smaller = x < y || x != x ? x : y;
  return x == y ? from_bits_f64(bits_f64(x) | bits_f64(y)) : smaller;
}

static inline f32 clamp_f32(f32 low, f32 x, f32 high) {
  return minimum_f32(maximum_f32(low, x), high);
}

static inline f64 clamp_f64(f64 low, f64 x, f64 high) {
  return minimum_f64(maximum_f64(low, x), high);
}

// -1, 1, or x itself where it is a zero or NaN.
static inline f32 sign_f32(f32 x) {
  return x == 0 || x != x ? x : __builtin_copysignf(1, x);
}

static inline f64 sign_f64(f64 x) {
  return x == 0 || x != x ? x : __builtin_copysign(1, x);
}

// Halves away from zero; not floor(x + 1/2), which rounds 0.49999997 to 1.
static inline f32 round_afz_f32(f32 x) {
  f32 whole = __builtin_truncf(x);
  return __builtin_fabsf(x - whole) >= 0.5f ? whole + __builtin_copysignf(1, x) : whole;
}

static inline f64 round_afz_f64(f64 x) {
  f64 whole = __builtin_trunc(x);
  return __builtin_fabs(x - whole) >= 0.5 ? whole + __builtin_copysign(1, x) : whole;
}

// x * y + z, rounded once where the machine can do that at the price of one operation. Only for
// polynomials: what HLO calls a product and a sum is rounded twice.
static inline f32 multiply_add_f32(f32 x, f32 y, f32 z) {
#ifdef __FMA__
  return __builtin_fmaf(x, y, z);
#else
  return x * y + z;
#endif
}

// e^r - 1 for |r| <= ln(2) / 2, by a polynomial (Cephes).
__attribute__((always_inline))
static inline f32 small_expm1_f32(f32 r) {
  f32 p = 1.9875691500e-4f;
  p = multiply_add_f32(p, r, 1.3981999507e-3f);
  p = multiply_add_f32(p, r, 8.3334519073e-3f);
  p = multiply_add_f32(p, r, 4.1665795894e-2f);
  p = multiply_add_f32(p, r, 1.6666665459e-1f);
  p = multiply_add_f32(p, r, 5.0000001201e-1f);
  return multiply_add_f32(p, r * r, r);
}

// What is left of x after n times ln(2), the latter in two parts.
static inline f32 less_logarithms_f32(f32 x, f32 n) {
  f32 r = multiply_add_f32(n, -0x1.62e4p-1f, x);
  return multiply_add_f32(n, -0x1.7f7d1cp-20f, r);
}

// e^x = 2^n e^r with n whole and |r| <= ln(2) / 2. The scale 2^n comes in two steps, for it may be
// no normal number, or overflow where the result does not.
__attribute__((always_inline))
static inline f32 exp_f32(f32 x) {
  f32 bounded = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  f32 n = __builtin_rintf(bounded * 0x1.715476p+0f);
  f32 p = 1.0f + small_expm1_f32(less_logarithms_f32(bounded, n));
  s32 whole = (s32)n;
  s32 half = whole >> 1;
  f32 first = from_bits_f32((u32)(half + 127) << 23);
  f32 second = from_bits_f32((u32)(whole - half + 127) << 23);
  return x != x ? x : p * first * second;
}

static inline f64 exp_f64(f64 x) {
  return __builtin_exp(x);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), all halved, for 2^n may overflow where the result does not.
__attribute__((always_inline))
static inline f32 expm1_f32(f32 x) {
  f32 bounded = x > 89.0f ? 89.0f : x < -18.0f ? -18.0f : x;
  f32 n = __builtin_rintf(bounded * 0x1.715476p+0f);
  f32 p = small_expm1_f32(less_logarithms_f32(bounded, n));
  f32 half = from_bits_f32((u32)((s32)n + 126) << 23);
  f32 value = 2.0f * multiply_add_f32(p, half, half - 0.5f);
  return __builtin_fabsf(x) < 0x1p-24f || x != x ? x : value;
}

static inline f64 expm1_f64(f64 x) {
  return __builtin_expm1(x);
}

// The e for which x = 2^e m with m in [sqrt(1/2), sqrt(2)), of positive normal numbers.
static inline s32 exponent_f32(f32 x) {
  return (s32)(bits_f32(x) - 0x3f3504f3) >> 23;
}

// log(2^e (1 + m)) for 1 + m in [sqrt(1/2), sqrt(2)), by a polynomial in m (Cephes).
__attribute__((always_inline))
static inline f32 log_parts_f32(f32 e, f32 m) {
  f32 square = m * m;
  f32 p = 7.0376836292e-2f;
  p = multiply_add_f32(p, m, -1.1514610310e-1f);
  p = multiply_add_f32(p, m, 1.1676998740e-1f);
  p = multiply_add_f32(p, m, -1.2420140846e-1f);
  p = multiply_add_f32(p, m, 1.4249322787e-1f);
  p = multiply_add_f32(p, m, -1.6668057665e-1f);
  p = multiply_add_f32(p, m, 2.0000714765e-1f);
  p = multiply_add_f32(p, m, -2.4999993993e-1f);
  p = multiply_add_f32(p, m, 3.3333331174e-1f);
  f32 low = multiply_add_f32(m * square, p, e * -2.12194440e-4f);
  return multiply_add_f32(e, 0.693359375f, m + multiply_add_f32(square, -0.5f, low));
}

__attribute__((always_inline))
static inline f32 log_f32(f32 x) {
  f32 scaled = x < 0x1p-126f ? x * 0x1p23f : x;
  s32 exponent = exponent_f32(scaled);
  f32 m = from_bits_f32(bits_f32(scaled) - ((u32)exponent << 23)) - 1.0f;
  f32 value = log_parts_f32((f32)(x < 0x1p-126f ? exponent - 23 : exponent), m);
  value = x == __builtin_inff() ? x : value;
  value = x == 0 ? -__builtin_inff() : value;
  return x < 0 || x != x ? __builtin_nanf("") : value;
}

static inline f64 log_f64(f64 x) {
  return __builtin_log(x);
}

// log(1 + x), where 1 + x is rounded to `sum`, and what that lost is put back.
__attribute__((always_inline))
static inline f32 log1p_f32(f32 x) {
  f32 sum = 1.0f + x;
  f32 lost = x > 1.0f ? 1.0f - (sum - x) : x - (sum - 1.0f);
  s32 exponent = exponent_f32(sum);
  f32 m = from_bits_f32(bits_f32(sum) - ((u32)exponent << 23)) - 1.0f;
  // Nothing is lost of much larger sums, whose reciprocal may be no normal number.
  f32 scale = from_bits_f32((u32)(127 - (exponent < 64 ? exponent : 64)) << 23);
  f32 value = log_parts_f32((f32)exponent, multiply_add_f32(lost, scale, m));
  value = x == __builtin_inff() ? x : value;
  value = x == -1.0f ? -__builtin_inff() : value;
  value = __builtin_fabsf(x) < 0x1p-24f ? x : value;
  return x < -1.0f || x != x ? __builtin_nanf("") : value;
}

static inline f64 log1p_f64(f64 x) {
  return __builtin_log1p(x);
}

// t / (t + 2) where t = e^2x - 1, of positive numbers; from 10 on it is 1.
__attribute__((always_inline))
static inline f32 tanh_f32(f32 x) {
  f32 size = __builtin_fabsf(x);
  f32 twice = 2.0f * (size > 10.0f ? 10.0f : size);
  f32 n = __builtin_rintf(twice * 0x1.715476p+0f);
  f32 p = small_expm1_f32(less_logarithms_f32(twice, n));
  f32 scale = from_bits_f32((u32)((s32)n + 127) << 23);
  f32 t = multiply_add_f32(p, scale, scale - 1.0f);
  return x != x ? x : __builtin_copysignf(t / (t + 2.0f), x);
}

static inline f64 tanh_f64(f64 x) {
  return __builtin_tanh(x);
}

// The error function: for small x odd in x, for large x 1 - exp(p(|x|)) (polynomials of N. Juffa).
__attribute__((always_inline))
static inline f32 erf_f32(f32 x) {
  f32 size = __builtin_fabsf(x);
  f32 bounded = size > 4.0f ? 4.0f : size;
  f32 square = bounded * bounded;
  f32 p = multiply_add_f32(-1.72853470e-5f, bounded, 3.83197126e-4f);
  f32 q = multiply_add_f32(-3.88396438e-3f, bounded, 2.42546219e-2f);
  p = multiply_add_f32(p, square, q);
  p = multiply_add_f32(p, bounded, -1.06777877e-1f);
  p = multiply_add_f32(p, bounded, -6.34846687e-1f);
  p = multiply_add_f32(p, bounded, -1.28717512e-1f);
  p = multiply_add_f32(p, bounded, -bounded);
  f32 far = __builtin_copysignf(1.0f - exp_f32(p), x);
  f32 n = -5.96761703e-4f;
  n = multiply_add_f32(n, square, 4.99119423e-3f);
  n = multiply_add_f32(n, square, -2.67681349e-2f);
  n = multiply_add_f32(n, square, 1.12819925e-1f);
  n = multiply_add_f32(n, square, -3.76125336e-1f);
  n = multiply_add_f32(n, square, 1.28379166e-1f);
  f32 near = multiply_add_f32(n, x, x);
  return size <= 0.927734375f ? near : x != x ? x : far;
}

static inline f64 erf_f64(f64 x) {
  return __builtin_erf(x);
}

__attribute__((always_inline))
static inline f32 logistic_f32(f32 x) {
  return 1.0f / (1.0f + exp_f32(-x));
}

static inline f64 logistic_f64(f64 x) {
  return 1.0 / (1.0 + exp_f64(-x));
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
  return from_bits_f32((u32)(key < 0 ? key ^ 0x7fffffff : key));
}

static inline f64 maximum_of_key_f64(s64 key) {
  return from_bits_f64((u64)(key < 0 ? key ^ 0x7fffffffffffffff : key));
}

static inline f32 minimum_of_key_f32(s32 key) {
  return maximum_of_key_f32(key);
}

static inline f64 minimum_of_key_f64(s64 key) {
  return maximum_of_key_f64(key);
}
