// Angles: sines, cosines and tangents of f32, and the arctangent. All is branch-free, so that it
// vectorises; and without tables, for many processors read those one lane after the other.

// x in turns, less whole ones if it is large: the sum of two numbers, the second less than 1/16. A
// large x is 24 digits times a power of two, and of the digits of 1 / (2 pi) those before that
// power's point make whole turns. The next 29 make a product that is exact, 52 more the other.
__attribute__((always_inline))
static inline f64 turns_f32(f32 x, f64 *low) {
  s32 power = (s32)(bits_f32(x) >> 23 & 255) - 150;
  s32 large = (u32)power < 105;
  f64 digits = large ? from_bits_f32((bits_f32(x) & 0x807fffff) | 0x4b000000) : x;
  u64 place = (u64)(u32)(large ? power : 0), shift = place & 63;
  u64 first = place < 64 ? 0x28be60db9391054au : 0x7f09d5f47d4d3770u;
  u64 second = place < 64 ? 0x7f09d5f47d4d3770u : 0x36d8a5664f10e410u;
  u64 third = place < 64 ? 0x36d8a5664f10e410u : 0x7f9458eaf7aef158u;
  first = first << shift | second >> 1 >> (63 - shift);
  second = second << shift | third >> 1 >> (63 - shift);
  u64 next = first << 29 | second >> 35;
  *low = digits * (from_bits_f64(0x3e20000000000000 | next >> 12) - 0x1p-29);
  return digits * (from_bits_f64(0x3ff0000000000000 | (first >> 35 << 23)) - 1.0);
}

// The sine of so many turns, a bit more than 1/4 at most, by the polynomial that is off by the least
// share of it.
static inline f64 sine_of_turns(f64 turns) {
  f64 square = turns * turns;
  f64 p = 3.621847162224294;
  p = multiply_add_f64(p, square, -15.072731093854552);
  p = multiply_add_f64(p, square, 42.05748115386308);
  p = multiply_add_f64(p, square, -76.70582500348696);
  p = multiply_add_f64(p, square, 81.60524879695492);
  p = multiply_add_f64(p, square, -41.34170223788253);
  return turns * multiply_add_f64(p, square, 6.283185307177335);
}

// Half a turn on, the sine is the same but for its sign. At 1.5 * 2^51 neighbours are half a turn
// apart: so the sum's last bit says whether an odd number of halves is taken away.
__attribute__((always_inline))
static inline f32 sine_f32(f32 x) {
  f64 low, high = turns_f32(x, &low);
  f64 halves = high + 0x1.8p51;
  f64 rest = (high - (halves - 0x1.8p51)) + low;
  f32 value = (f32)sine_of_turns(from_bits_f64(bits_f64(rest) ^ bits_f64(halves) << 63));
  return x - x == 0 ? value : __builtin_nanf("");
}

static inline f64 sine_f64(f64 x) {
  return __builtin_sin(x);
}

// The sine of a quarter of a turn less the angle.
__attribute__((always_inline))
static inline f32 cosine_f32(f32 x) {
  f64 low, high = turns_f32(x, &low);
  f64 halves = (high - 0.25) + 0x1.8p51;
  f64 rest = ((halves - 0x1.8p51) + 0.25 - high) - low;
  f32 value = (f32)sine_of_turns(from_bits_f64(bits_f64(rest) ^ bits_f64(halves) << 63));
  return x - x == 0 ? value : __builtin_nanf("");
}

static inline f64 cosine_f64(f64 x) {
  return __builtin_cos(x);
}

// The quotient of sine and cosine; a quarter of a turn on they change places.
__attribute__((always_inline))
static inline f32 tangent_f32(f32 x) {
  f64 low, high = turns_f32(x, &low);
  f64 quarters = high + 0x1.8p50;
  f64 rest = (high - (quarters - 0x1.8p50)) + low;
  f64 sine = sine_of_turns(rest), cosine = sine_of_turns(0.25 - __builtin_fabs(rest));
  s32 odd = bits_f64(quarters) & 1;
  f32 value = (f32)((odd ? -cosine : sine) / (odd ? sine : cosine));
  return x - x == 0 ? value : __builtin_nanf("");
}

static inline f64 tangent_f64(f64 x) {
  return __builtin_tan(x);
}

// The angle of a point: of the smaller coordinate over the larger one by a polynomial (SLEEF), then
// reflected at the diagonal and at the axes.
__attribute__((always_inline))
static inline f32 atan2_f32(f32 y, f32 x) {
  f32 up = __builtin_fabsf(y), along = __builtin_fabsf(x);
  f32 larger = up > along ? up : along, smaller = up > along ? along : up;
  f32 ratio = smaller / larger;
  ratio = larger == smaller ? 1.0f : ratio;
  ratio = larger == 0 ? 0.0f : ratio;
  f32 square = ratio * ratio;
  f32 p = 2.82363896258175373077393e-3f;
  p = multiply_add_f32(p, square, -1.59569028764963150024414e-2f);
  p = multiply_add_f32(p, square, 4.25049886107444763183594e-2f);
  p = multiply_add_f32(p, square, -7.48900920152664184570312e-2f);
  p = multiply_add_f32(p, square, 1.06347933411598205566406e-1f);
  p = multiply_add_f32(p, square, -1.42027363181114196777344e-1f);
  p = multiply_add_f32(p, square, 1.99926957488059997558594e-1f);
  p = multiply_add_f32(p, square, -3.33331018686294555664062e-1f);
  f32 angle = multiply_add_f32(p, square * ratio, ratio);
  f32 steep = 0x1.921fb6p0f - (angle + 0x1.777a5cp-25f);
  angle = up > along ? steep : angle;
  f32 behind = 0x1.921fb6p1f - (angle + 0x1.777a5cp-24f);
  angle = bits_f32(x) >> 31 ? behind : angle;
  return x != x || y != y ? __builtin_nanf("") : __builtin_copysignf(angle, y);
}

static inline f64 atan2_f64(f64 y, f64 x) {
  return __builtin_atan2(y, x);
}
