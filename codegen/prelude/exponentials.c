// Exponentials, logarithms and what is made of them. Every function here is branch-free arithmetic
// that the compiler can vectorise, if it is inlined: so the long ones must be.

// x * y + z, rounded once where the machine can do that at the price of one operation. Only for
// polynomials: what HLO calls a product and a sum is rounded twice.
static inline f32 multiply_add_f32(f32 x, f32 y, f32 z) {
#ifdef __FMA__
  return __builtin_fmaf(x, y, z);
#else
  return x * y + z;
#endif
}

static inline f64 multiply_add_f64(f64 x, f64 y, f64 z) {
#ifdef __FMA__
  return __builtin_fma(x, y, z);
#else
  return x * y + z;
#endif
}

// e^r - 1 for |r| <= ln(2) / 2, by the polynomial that is off by the least share of it. (r * r would
// be no normal number for many r, and such numbers are slow.)
__attribute__((always_inline))
static inline f32 small_expm1_f32(f32 r) {
  f32 p = 1.388250967e-3f;
  p = multiply_add_f32(p, r, 8.366580121e-3f);
  p = multiply_add_f32(p, r, 4.166720062e-2f);
  p = multiply_add_f32(p, r, 1.666654348e-1f);
  p = multiply_add_f32(p, r, 4.999999702e-1f);
  return multiply_add_f32(p * r, r, r);
}

// e^r for |r| <= ln(2) / 2, by the polynomial that is off by the least share of it.
__attribute__((always_inline))
static inline f32 small_exp_f32(f32 r) {
  f32 p = 1.381446724e-3f;
  p = multiply_add_f32(p, r, 8.368780836e-3f);
  p = multiply_add_f32(p, r, 4.166839272e-2f);
  p = multiply_add_f32(p, r, 1.666651964e-1f);
  p = multiply_add_f32(p, r, 4.999999404e-1f);
  p = multiply_add_f32(p, r, 1.0f);
  return multiply_add_f32(p, r, 1.0f);
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, by the Taylor series.
__attribute__((always_inline))
static inline f64 beyond_linear_f64(f64 r) {
  f64 p = 1.0 / 6227020800;
  p = multiply_add_f64(p, r, 1.0 / 479001600);
  p = multiply_add_f64(p, r, 1.0 / 39916800);
  p = multiply_add_f64(p, r, 1.0 / 3628800);
  p = multiply_add_f64(p, r, 1.0 / 362880);
  p = multiply_add_f64(p, r, 1.0 / 40320);
  p = multiply_add_f64(p, r, 1.0 / 5040);
  p = multiply_add_f64(p, r, 1.0 / 720);
  p = multiply_add_f64(p, r, 1.0 / 120);
  p = multiply_add_f64(p, r, 1.0 / 24);
  p = multiply_add_f64(p, r, 1.0 / 6);
  return multiply_add_f64(p, r, 0.5);
}

// e^r - 1 for |r| <= ln(2) / 2.
__attribute__((always_inline))
static inline f64 small_expm1_f64(f64 r) {
  return multiply_add_f64(beyond_linear_f64(r), r * r, r);
}

// What is left of x after n times ln(2), the latter in two parts.
static inline f32 less_logarithms_f32(f32 x, f32 n) {
  f32 r = multiply_add_f32(n, -0x1.62e4p-1f, x);
  return multiply_add_f32(n, -0x1.7f7d1cp-20f, r);
}

static inline f64 less_logarithms_f64(f64 x, f64 n) {
  f64 r = multiply_add_f64(n, -0x1.62e42feep-1, x);
  return multiply_add_f64(n, -0x1.a39ef35793c76p-33, r);
}

// 2^n for a whole n from -1022 to 1023: added to 1.5 * 2^52, its bits are at the end of the sum.
static inline f64 power_of_two(f64 n) {
  return from_bits_f64((bits_f64(n + 0x1.8p52) + 1023) << 52);
}

// x in units of ln(2), rounded to a whole n, as the sum of n and `bias`. At 1.5 * 2^23 neighbours
// are 1 apart: so the sum's last bits say what n plus the rest of the bias is.
static inline f32 in_logarithms_f32(f32 x, f32 bias) {
  return multiply_add_f32(x, 0x1.715476p+0f, bias);
}

// e^x = 2^n e^r with n whole and |r| <= ln(2) / 2. The scale 2^n comes in two steps, for it may be
// no normal number, or overflow where the result does not. Where that is 0, as for what is masked
// before a softmax, it is made of zeros: to round a number down to 0 takes ten times as long.
// Comparisons are such that NaN goes through them, here and in what follows.
__attribute__((always_inline))
static inline f32 exp_f32(f32 x) {
  f32 bounded = x < -104.0f ? -104.0f : x;
  const f32 bias = 0x1.8p23f + 254.0f;
  f32 sum = in_logarithms_f32(bounded, bias);
  f32 p = small_exp_f32(less_logarithms_f32(bounded, sum - bias));
  p = x < -104.0f ? 0.0f : p;
  u32 exponents = bits_f32(sum), first = exponents >> 1;
  f32 value = p * from_bits_f32(first << 23) * from_bits_f32((exponents - first) << 23);
  return 89.0f < x ? __builtin_inff() : value;
}

__attribute__((always_inline))
static inline f64 exp_f64(f64 x) {
  f64 bounded = x < 710.0 ? x > -746.0 ? x : -746.0 : 710.0;
  f64 n = __builtin_rint(bounded * 0x1.71547652b82fep0);
  f64 p = 1.0 + small_expm1_f64(less_logarithms_f64(bounded, n));
  p = x < -746.0 ? 0.0 : p;
  f64 half = __builtin_rint(0.5 * n);
  return x != x ? x : p * power_of_two(half) * power_of_two(n - half);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), all halved, for 2^n may overflow where the result does not.
__attribute__((always_inline))
static inline f32 expm1_f32(f32 x) {
  f32 bounded = 89.0f < x ? 89.0f : x;
  bounded = bounded < -18.0f ? -18.0f : bounded;
  const f32 bias = 0x1.8p23f + 126.0f;
  f32 sum = in_logarithms_f32(bounded, bias);
  f32 p = small_expm1_f32(less_logarithms_f32(bounded, sum - bias));
  f32 half = from_bits_f32(bits_f32(sum) << 23);
  f32 value = 2.0f * multiply_add_f32(p, half, half - 0.5f);
  return __builtin_fabsf(x) < 0x1p-24f ? x : value;
}

__attribute__((always_inline))
static inline f64 expm1_f64(f64 x) {
  f64 bounded = x < 710.0 ? x > -38.0 ? x : -38.0 : 710.0;
  f64 n = __builtin_rint(bounded * 0x1.71547652b82fep0);
  f64 p = small_expm1_f64(less_logarithms_f64(bounded, n));
  f64 half = power_of_two(n - 1.0);
  f64 value = 2.0 * multiply_add_f64(p, half, half - 0.5);
  return __builtin_fabs(x) < 0x1p-53 || x != x ? x : value;
}

// The e for which x = 2^e m with m in [sqrt(1/2), sqrt(2)), of positive normal numbers.
static inline s32 exponent_f32(f32 x) {
  return (s32)(bits_f32(x) - 0x3f3504f3) >> 23;
}

// The e for which x = 2^e m with m in [sqrt(1/2), sqrt(2)), as a number: its bits, biased, are put at
// the end of 2^52.
static inline f64 exponent_f64(f64 x) {
  u64 biased = (bits_f64(x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)) >> 52;
  return from_bits_f64(0x4330000000000000 | biased) - (0x1p52 + 1023.0);
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
  // The same question as a number: asked twice, it would make two branches, with all that is between.
  s32 small = x < 0x1p-126f;
  f32 scaled = x < 0x1p-126f ? x * 0x1p23f : x;
  s32 exponent = exponent_f32(scaled);
  f32 m = from_bits_f32(bits_f32(scaled) - ((u32)exponent << 23)) - 1.0f;
  f32 value = log_parts_f32((f32)(exponent - (-small & 23)), m);
  value = x == __builtin_inff() ? x : value;
  value = x == 0 ? -__builtin_inff() : value;
  return x >= 0 ? value : __builtin_nanf("");
}

// log(2^e (1 + m)) for 1 + m in [sqrt(1/2), sqrt(2)), by a polynomial in the square of
// s = m / (2 + m), in which the series is short (FreeBSD's C library).
__attribute__((always_inline))
static inline f64 log_parts_f64(f64 e, f64 m) {
  f64 s = m / (2.0 + m), square = s * s, half = 0.5 * m * m;
  f64 p = 1.479819860511658591e-1;
  p = multiply_add_f64(p, square, 1.531383769920937332e-1);
  p = multiply_add_f64(p, square, 1.818357216161805012e-1);
  p = multiply_add_f64(p, square, 2.222219843214978396e-1);
  p = multiply_add_f64(p, square, 2.857142874366239149e-1);
  p = multiply_add_f64(p, square, 3.999999999940941908e-1);
  p = multiply_add_f64(p, square, 6.666666666666735130e-1);
  f64 low = multiply_add_f64(s, multiply_add_f64(p, square, half), e * 1.90821492927058770002e-10);
  return multiply_add_f64(e, 6.93147180369123816490e-1, m - (half - low));
}

__attribute__((always_inline))
static inline f64 log_f64(f64 x) {
  f64 scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
  f64 e = exponent_f64(scaled);
  f64 m = from_bits_f64(bits_f64(scaled) - (bits_f64(e + 0x1.8p52) << 52)) - 1.0;
  f64 value = log_parts_f64(x < 0x1p-1022 ? e - 54.0 : e, m);
  value = x == __builtin_inf() ? x : value;
  value = x == 0 ? -__builtin_inf() : value;
  return x < 0 || x != x ? __builtin_nan("") : value;
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
  return x >= -1.0f ? value : __builtin_nanf("");
}

// The logarithm of a normal number and of a small one that is to be added to it.
__attribute__((always_inline))
static inline f64 log_of_sum_f64(f64 sum, f64 lost) {
  f64 e = exponent_f64(sum);
  f64 m = from_bits_f64(bits_f64(sum) - (bits_f64(e + 0x1.8p52) << 52)) - 1.0;
  f64 scale = power_of_two(e < 64.0 ? -e : -64.0);
  return log_parts_f64(e, multiply_add_f64(lost, scale, m));
}

__attribute__((always_inline))
static inline f64 log1p_f64(f64 x) {
  f64 sum = 1.0 + x;
  f64 value = log_of_sum_f64(sum, x > 1.0 ? 1.0 - (sum - x) : x - (sum - 1.0));
  value = x == __builtin_inf() ? x : value;
  value = x == -1.0 ? -__builtin_inf() : value;
  value = __builtin_fabs(x) < 0x1p-53 ? x : value;
  return x < -1.0 || x != x ? __builtin_nan("") : value;
}

// t / (t + 2) where t = e^2x - 1, of positive numbers; from 10 on it is 1.
__attribute__((always_inline))
static inline f32 tanh_f32(f32 x) {
  f32 size = __builtin_fabsf(x);
  f32 twice = 2.0f * (10.0f < size ? 10.0f : size);
  const f32 bias = 0x1.8p23f + 127.0f;
  f32 sum = in_logarithms_f32(twice, bias);
  f32 p = small_expm1_f32(less_logarithms_f32(twice, sum - bias));
  f32 scale = from_bits_f32(bits_f32(sum) << 23);
  f32 t = multiply_add_f32(p, scale, scale - 1.0f);
  return __builtin_copysignf(t / (t + 2.0f), x);
}

__attribute__((always_inline))
static inline f64 tanh_f64(f64 x) {
  f64 size = __builtin_fabs(x);
  f64 twice = 2.0 * (size < 20.0 ? size : 20.0);
  f64 n = __builtin_rint(twice * 0x1.71547652b82fep0);
  f64 p = small_expm1_f64(less_logarithms_f64(twice, n));
  f64 scale = power_of_two(n);
  f64 t = multiply_add_f64(p, scale, scale - 1.0);
  return x != x ? x : __builtin_copysign(t / (t + 2.0), x);
}

// The error function: for small x odd in x, for large x 1 - 2^p(|x|). The polynomials are N.
// Juffa's, the latter in units of ln(2).
__attribute__((always_inline))
static inline f32 erf_f32(f32 x) {
  f32 size = __builtin_fabsf(x);
  f32 bounded = 4.0f < size ? 4.0f : size;
  f32 square = bounded * bounded;
  f32 p = multiply_add_f32(-2.49374843e-5f, bounded, 5.52836573e-4f);
  f32 q = multiply_add_f32(-5.60337631e-3f, bounded, 3.49920243e-2f);
  p = multiply_add_f32(p, square, q);
  p = multiply_add_f32(p, bounded, -1.54047906e-1f);
  p = multiply_add_f32(p, bounded, -9.15890157e-1f);
  p = bounded * multiply_add_f32(p, bounded, -1.62839515f);
  // p is from -24 to 0, so this power has no ends to look after. It needs fewer digits.
  const f32 bias = 0x1.8p23f + 127.0f;
  f32 sum = p + bias, r = p - (sum - bias);
  f32 power = 1.326472731e-3f;
  power = multiply_add_f32(power, r, 9.671512991e-3f);
  power = multiply_add_f32(power, r, 5.550733581e-2f);
  power = multiply_add_f32(power, r, 2.402224243e-1f);
  power = multiply_add_f32(power, r, 6.931470037e-1f);
  power = multiply_add_f32(power, r, 1.0f);
  f32 far = multiply_add_f32(-power, from_bits_f32(bits_f32(sum) << 23), 1.0f);
  f32 near = -5.96761703e-4f;
  near = multiply_add_f32(near, square, 4.99119423e-3f);
  near = multiply_add_f32(near, square, -2.67681349e-2f);
  near = multiply_add_f32(near, square, 1.12819925e-1f);
  near = multiply_add_f32(near, square, -3.76125336e-1f);
  near = multiply_add_f32(near, square, 1.28379166e-1f);
  near = multiply_add_f32(near, x, x);
  return size <= 0.927734375f ? near : __builtin_copysignf(far, x);
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

// x^y = 2^(y log2 |x|), computed in f64, negative for odd powers of negative numbers. Only whole
// powers of negative numbers are real. Any power of 1, and whatever to the power 0, is 1.
__attribute__((always_inline))
static inline f32 power_f32(f32 x, f32 y) {
  f64 base = __builtin_fabs((f64)x);
  f64 e = exponent_f64(base);
  f64 m = from_bits_f64(bits_f64(base) - (bits_f64(e + 0x1.8p52) << 52)) - 1.0;
  f64 binary = e + log_parts_f64(0.0, m) * 0x1.71547652b82fep0;
  binary = base == 0 ? -__builtin_inf() : binary;
  binary = base - base == 0 ? binary : base;
  f64 power = y * binary;
  f64 bounded = power > 300.0 ? 300.0 : power < -300.0 ? -300.0 : power;
  f64 n = __builtin_rint(bounded);
  f32 size = (f32)((1.0 + small_expm1_f64((bounded - n) * 0x1.62e42fefa39efp-1)) * power_of_two(n));
  s32 one = y == 0 || x == 1.0f || (x == -1.0f && y - y != 0 && y == y);
  size = one ? 1.0f : size;
  f32 whole = __builtin_rintf(y), half = 0.5f * y;
  s32 odd = whole == y && __builtin_rintf(half) != half;
  f32 value = odd ? __builtin_copysignf(size, x) : size;
  s32 unreal = x < 0 && x - x == 0 && whole != y;
  return unreal ? __builtin_nanf("") : value;
}

static inline f64 power_f64(f64 x, f64 y) {
  return __builtin_pow(x, y);
}

static inline $T cbrt_$T($T x) {
  return __builtin_cbrt$f(x);
}
