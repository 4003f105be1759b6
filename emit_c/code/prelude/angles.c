// Angles of f64 in vector lanes. CUDA has functions of its own for them.

// The binary digits of 1 / (2 pi), after 96 zeros.
static const u64 digits_of_turns[20] = {
  0x0000000000000000u, 0x0000000028be60dbu, 0x9391054a7f09d5f4u, 0x7d4d377036d8a566u,
  0x4f10e4107f9458eau, 0xf7aef1586dc91b8eu, 0x909374b801924bbau, 0x827464873f877ac7u,
  0x2c4a69cfba208d7du, 0x4baed1213a671c09u, 0xad17df904e64758eu, 0x60d4ce7d272117e2u,
  0xef7e4a0ec7fe25ffu, 0xf7816603fbcbc462u, 0xd6829b47db4d9fb3u, 0xc9f2c26dd3d18fd9u,
  0xa797fa8b5d49eeb1u, 0xfaf97c5ecf41ce7du, 0xe294a4ba9afed7ecu, 0x47e357421580cc11u,
};

// The last 26 bits of some, times a power of two: put at the end of 2^52, they are a number.
static inline f64 scaled_digits(u64 bits, f64 scale) {
  return (from_bits_f64(0x4330000000000000 | (bits & 0x3ffffff)) - 0x1p52) * scale;
}

// What a number less than 2^51 is beyond the nearest whole one.
static inline f64 less_whole(f64 x) {
  return x - ((x + 0x1.8p52) - 0x1.8p52);
}

// x in turns, less whole ones, as the sum of two numbers (M. Payne, R. Hanek). x is 53 digits times a
// power of two, and of the digits of 1 / (2 pi) those before that power's point make whole turns. The
// next 182 are multiplied, 26 at a time, with each half of x, which is exact. Of numbers less than
// 2^-44 nothing comes of it.
__attribute__((always_inline))
static inline f64 turns_f64(f64 x, f64 *low) {
  s64 power = (s64)(bits_f64(x) >> 52 & 0x7ff) - (1075 - 96);
  u64 place = (u64)(power < 0 || power > 1067 ? 0 : power), word = place >> 6, shift = place & 63;
  u64 w0 = digits_of_turns[word], w1 = digits_of_turns[word + 1];
  u64 w2 = digits_of_turns[word + 2], w3 = digits_of_turns[word + 3];
  u64 first = w0 << shift | w1 >> 1 >> (63 - shift);
  u64 second = w1 << shift | w2 >> 1 >> (63 - shift);
  u64 third = w2 << shift | w3 >> 1 >> (63 - shift);
  f64 d1 = scaled_digits(first >> 38, 0x1p-26), d2 = scaled_digits(first >> 12, 0x1p-52);
  f64 d3 = scaled_digits(first << 14 | second >> 50, 0x1p-78);
  f64 d4 = scaled_digits(second >> 24, 0x1p-104);
  f64 d5 = scaled_digits(second << 2 | third >> 62, 0x1p-130);
  f64 d6 = scaled_digits(third >> 36, 0x1p-156), d7 = scaled_digits(third >> 10, 0x1p-182);
  f64 digits = from_bits_f64((bits_f64(x) & 0x800fffffffffffff) | 0x4330000000000000);
  f64 upper = from_bits_f64(bits_f64(digits) & 0xfffffffffc000000), lower = digits - upper;
  // The products that end at the digit 52 of a turn, or before it: the first of upper is whole.
  f64 near = less_whole(lower * d1) + less_whole(upper * d2);
  near = less_whole(near + less_whole(lower * d2) + less_whole(upper * d3));
  f64 lost = 0;
  f64 sum = sum_f64(near, upper * d4, &lost);
  sum = sum_f64(sum, lower * d3, &lost);
  sum = sum_f64(sum, upper * d5, &lost);
  sum = sum_f64(sum, lower * d4, &lost);
  lost += (upper * d6 + lower * d5) + (upper * d7 + lower * d6);
  f64 high = sum + lost;
  *low = lost - (high - sum);
  return high;
}

// The angle x less quarters of a turn, as the sum of two numbers, and how many quarters these are,
// modulo 4. At 1.5 * 2^50 neighbours are a quarter apart: the sum's last bits count them.
__attribute__((always_inline))
static inline f64 less_quarters_f64(f64 x, f64 *low, u64 *quarters) {
  f64 rest, turns = turns_f64(x, &rest), sum = turns + 0x1.8p50;
  turns -= sum - 0x1.8p50;
  f64 angle = turns * 0x1.921fb54442d18p+2;
  *low = multiply_add_f64(turns, 0x1.921fb54442d18p+2, -angle);
  *low += turns * 0x1.1a62633145c07p-52 + rest * 0x1.921fb54442d18p+2;
  *quarters = bits_f64(sum);
  return angle;
}

// The sine of an angle up to an eighth of a turn, and of a small one beside it, by a polynomial
// (FreeBSD's C library).
__attribute__((always_inline))
static inline f64 small_sine_f64(f64 x, f64 low) {
  f64 square = x * x, cube = square * x;
  f64 p = 1.58969099521155010221e-10;
  p = multiply_add_f64(p, square, -2.50507602534068634195e-8);
  p = multiply_add_f64(p, square, 2.75573137070700676789e-6);
  p = multiply_add_f64(p, square, -1.98412698298579493134e-4);
  p = multiply_add_f64(p, square, 8.33333333332248946124e-3);
  f64 rest = square * (0.5 * low - cube * p) - low;
  return x - (rest + cube * 1.66666666666666324348e-1);
}

__attribute__((always_inline))
static inline f64 small_cosine_f64(f64 x, f64 low) {
  f64 square = x * x, half = 0.5 * square, most = 1.0 - half;
  f64 p = -1.13596475577881948265e-11;
  p = multiply_add_f64(p, square, 2.08757232129817482790e-9);
  p = multiply_add_f64(p, square, -2.75573143513906633035e-7);
  p = multiply_add_f64(p, square, 2.48015872894767294178e-5);
  p = multiply_add_f64(p, square, -1.38888888888741095749e-3);
  p = multiply_add_f64(p, square, 4.16666666666666019037e-2);
  return most + (((1.0 - most) - half) + (square * square * p - x * low));
}

// An odd quarter of a turn on, sine and cosine change places; half a turn on, they change signs.
__attribute__((always_inline))
static inline f64 sine_f64(f64 x) {
  u64 quarters;
  f64 low, angle = less_quarters_f64(x, &low, &quarters);
  f64 sine = small_sine_f64(angle, low), cosine = small_cosine_f64(angle, low);
  f64 value = from_bits_f64(bits_f64(quarters & 1 ? cosine : sine) ^ (quarters & 2) << 62);
  value = __builtin_fabs(x) < 0x1p-27 ? x : value;
  return x - x == 0 ? value : __builtin_nan("");
}

__attribute__((always_inline))
static inline f64 cosine_f64(f64 x) {
  u64 quarters;
  f64 low, angle = less_quarters_f64(x, &low, &quarters);
  f64 sine = small_sine_f64(angle, low), cosine = small_cosine_f64(angle, low);
  f64 value = from_bits_f64(bits_f64(quarters & 1 ? sine : cosine) ^ (quarters + 1 & 2) << 62);
  value = __builtin_fabs(x) < 0x1p-27 ? 1.0 : value;
  return x - x == 0 ? value : __builtin_nan("");
}

__attribute__((always_inline))
static inline f64 tangent_f64(f64 x) {
  u64 quarters;
  f64 low, angle = less_quarters_f64(x, &low, &quarters);
  f64 sine = small_sine_f64(angle, low), cosine = small_cosine_f64(angle, low);
  f64 value = (quarters & 1 ? -cosine : sine) / (quarters & 1 ? sine : cosine);
  value = __builtin_fabs(x) < 0x1p-27 ? x : value;
  return x - x == 0 ? value : __builtin_nan("");
}

// The angle of a point: of the smaller coordinate over the larger one by a polynomial (FreeBSD's C
// library), or of what that is beyond an eighth of a turn; then reflected at the diagonal and at the
// axes.
__attribute__((always_inline))
static inline f64 atan2_f64(f64 y, f64 x) {
  f64 up = __builtin_fabs(y), along = __builtin_fabs(x);
  f64 larger = up > along ? up : along, smaller = up > along ? along : up;
  // Differences of the least numbers are subnormal, and may be flushed.
  f64 scale = larger > 0x1p1000 ? 0x1p-100 : larger < 0x1p-900 ? 0x1p100 : 1.0;
  larger *= scale, smaller *= scale;
  s32 beyond = (smaller > 0x1.a827999fcef32p-2 * larger) | (smaller == __builtin_inf());
  f64 ratio = (beyond ? smaller - larger : smaller) / (beyond ? smaller + larger : larger);
  ratio = larger == smaller ? 0.0 : ratio;
  f64 square = ratio * ratio;
  f64 p = 1.62858201153657823623e-2;
  p = multiply_add_f64(p, square, -3.65315727442169155270e-2);
  p = multiply_add_f64(p, square, 4.97687799461593236017e-2);
  p = multiply_add_f64(p, square, -5.83357013379057348645e-2);
  p = multiply_add_f64(p, square, 6.66107313738753120669e-2);
  p = multiply_add_f64(p, square, -7.69187620504482999495e-2);
  p = multiply_add_f64(p, square, 9.09088713343650656196e-2);
  p = multiply_add_f64(p, square, -1.11111104054623557880e-1);
  p = multiply_add_f64(p, square, 1.42857142725034663711e-1);
  p = multiply_add_f64(p, square, -1.99999999998764832476e-1);
  p = multiply_add_f64(p, square, 3.33333333333329318027e-1);
  f64 angle = ratio - (ratio * square * p - (beyond ? 0x1.1a62633145c07p-55 : 0.0));
  angle = beyond ? 0x1.921fb54442d18p-1 + angle : angle;
  angle = up > along ? 0x1.921fb54442d18p0 - (angle - 0x1.1a62633145c07p-54) : angle;
  angle = bits_f64(x) >> 63 ? 0x1.921fb54442d18p1 - (angle - 0x1.1a62633145c07p-53) : angle;
  return x != x || y != y ? __builtin_nan("") : __builtin_copysign(angle, y);
}
