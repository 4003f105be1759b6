// Powers of f64, and cube roots, in vector lanes. CUDA has functions of its own for them.

// The product, rounded; what that loses is added to `lost`. Without a multiply-add, numbers are cut in
// halves, whose products are exact (T. Dekker).
static inline f64 exact_product_f64(f64 x, f64 y, f64 *lost) {
  f64 product = x * y;
#ifdef __FMA__
  *lost += __builtin_fma(x, y, -product);
#else
  f64 a = from_bits_f64(bits_f64(x) & 0xfffffffff8000000), b = x - a;
  f64 c = from_bits_f64(bits_f64(y) & 0xfffffffff8000000), d = y - c;
  *lost += ((a * c - product) + a * d + b * c) + b * d;
#endif
  return product;
}

// The sum of two numbers, rounded, the first of which is the larger one or 0; what that loses is
// added to `lost`.
static inline f64 ordered_sum_f64(f64 larger, f64 smaller, f64 *lost) {
  f64 sum = larger + smaller;
  *lost += smaller - (sum - larger);
  return sum;
}

// The binary logarithm of a positive number, as the sum of two, exact to 68 digits or so. With
// x = 2^e m and s = (m - 1) / (m + 1) it is e + 2 / ln(2) (s + s^3 / 3 + s^5 q), where q is the
// polynomial in s^2 that is off by the least share of it.
__attribute__((always_inline))
static inline f64 log2_f64(f64 x, f64 *low) {
  f64 scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
  f64 e = exponent_f64(scaled);
  f64 m = from_bits_f64(bits_f64(scaled) - (bits_f64(e + 0x1.8p52) << 52));
  f64 above = m + 1.0, reciprocal = 1.0 / above, rest = 0, of_square = 0, of_third = 0, lost = 0;
  f64 s = (m - 1.0) * reciprocal, back = exact_product_f64(s, above, &rest);
  f64 of_s = (((m - 1.0) - back) - rest - s * (m - (above - 1.0))) * reciprocal;
  f64 square = exact_product_f64(s, s, &of_square);
  of_square += 2.0 * s * of_s;
  f64 q = 0x1.e039ca40c2326p-5;
  q = multiply_add_f64(q, square, 0x1.df7b9d68e03a9p-5);
  q = multiply_add_f64(q, square, 0x1.1118cdf4b6761p-4);
  q = multiply_add_f64(q, square, 0x1.3b1395b2effadp-4);
  q = multiply_add_f64(q, square, 0x1.745d177ae83dcp-4);
  q = multiply_add_f64(q, square, 0x1.c71c71c6ea39bp-4);
  q = multiply_add_f64(q, square, 0x1.2492492492523p-3);
  q = multiply_add_f64(q, square, 0x1.999999999999ap-3);
  f64 third = ordered_sum_f64(0x1.5555555555555p-2, square * q, &of_third);
  of_third += 0x1.5555555555555p-56;
  f64 of_factor = third * of_square + of_third * square, of_sum = of_s;
  f64 factor = exact_product_f64(third, square, &of_factor);
  of_sum += of_s * factor + s * of_factor;
  f64 sum = ordered_sum_f64(s, exact_product_f64(s, factor, &of_sum), &of_sum);
  f64 of_binary = of_sum * 0x1.71547652b82fep+1 + sum * 0x1.777d0ffda0d24p-55;
  f64 binary = exact_product_f64(sum, 0x1.71547652b82fep+1, &of_binary);
  f64 whole = x < 0x1p-1022 ? e - 54.0 : e, high = ordered_sum_f64(whole, binary, &lost);
  *low = lost + of_binary;
  return high;
}

// 2^(high + low), rounded once where it is a normal number: so it is exact where it can be.
__attribute__((always_inline))
static inline f64 exp2_f64(f64 high, f64 low) {
  f64 n = __builtin_rint(high), rest = (high - n) + low, lost = 0;
  f64 of_rest = ((high - n) - rest) + low;
  f64 of_power = of_rest * 0x1.62e42fefa39efp-1 + rest * 0x1.abc9e3b39803fp-56;
  f64 r = exact_product_f64(rest, 0x1.62e42fefa39efp-1, &of_power);
  f64 sum = ordered_sum_f64(1.0, r, &lost);
  f64 power = sum + (lost + (of_power + of_power * r + r * r * beyond_linear_f64(r)));
  f64 half = __builtin_rint(0.5 * n);
  return power * power_of_two(half) * power_of_two(n - half);
}

// x^y = 2^(y log2 |x|), negative for odd powers of negative numbers. Only whole powers of negative
// numbers are real. Any power of 1, and whatever to the power 0, is 1.
__attribute__((always_inline))
static inline f64 power_f64(f64 x, f64 y) {
  f64 base = __builtin_fabs(x), low, high = log2_f64(base, &low);
  high = base == 0 ? -__builtin_inf() : base - base == 0 ? high : base;
  f64 lost = y * low, power = exact_product_f64(y, high, &lost);
  f64 bounded = power > 1100.0 ? 1100.0 : power < -1100.0 ? -1100.0 : power;
  f64 size = exp2_f64(bounded, bounded == power ? lost : 0.0);
  s32 one = y == 0 || x == 1.0 || (x == -1.0 && y - y != 0 && y == y);
  size = one ? 1.0 : size;
  f64 whole = __builtin_rint(y), half = 0.5 * y;
  s32 odd = whole == y && __builtin_rint(half) != half;
  f64 value = odd ? __builtin_copysign(size, x) : size;
  s32 unreal = x < 0 && x - x == 0 && whole != y;
  return unreal ? __builtin_nan("") : value;
}

// The cube root: a third of the bits as a first guess, a polynomial of its cube over x, which leaves 23
// digits whose square is exact, and a step of Newton's (FreeBSD's C library).
__attribute__((always_inline))
static inline f64 cbrt_f64(f64 x) {
  f64 size = __builtin_fabs(x), scaled = size < 0x1p-1022 ? size * 0x1p54 : size;
  u64 third = (bits_f64(scaled) >> 32) * 0xaaaaaaab >> 33;
  f64 guess = from_bits_f64((third + 715094163) << 32), r = guess * guess * (guess / scaled);
  f64 p = multiply_add_f64(r, 1.621429720105354466140, -1.88497979543377169875);
  f64 q = multiply_add_f64(r, 0.145996192886612446982, -0.758397934778766047437);
  p = multiply_add_f64(r * r * r, q, multiply_add_f64(p, r, 1.87595182427177009643));
  f64 root = from_bits_f64((bits_f64(guess * p) + 0x80000000) & 0xffffffffc0000000);
  f64 other = scaled / (root * root);
  root = root + root * ((other - root) / (root + root + other));
  root = size < 0x1p-1022 ? root * 0x1p-18 : root;
  return x - x == 0 && x != 0 ? __builtin_copysign(root, x) : x;
}

__attribute__((always_inline))
static inline f32 cbrt_f32(f32 x) {
  return (f32)cbrt_f64(x);
}
