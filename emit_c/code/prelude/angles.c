// Angles: sines and cosines of f32, and the arctangent. All is branch-free, so that it vectorises.

// What 2^0, 2^1, ... leave when they are divided by 2 pi: 29 bits of it, and the rest.
static const f64 turns_high[105] = {
  0x1p0, 0x1p1, 0x1p2, 0x1.b7812aep0, 0x1.b7812aep1,
  0x1.2b0bad5p-1, 0x1.2b0bad5p0, 0x1.2b0bad5p1, 0x1.2b0bad5p2, 0x1.87ef4acp1,
  0x1.87ef4acp2, 0x1.7dbee05p2, 0x1.695e0b6p2, 0x1.409c618p2, 0x1.de321bbp1,
  0x1.304999cp0, 0x1.304999cp1, 0x1.304999cp2, 0x1.9ce6fcap1, 0x1.58e8ec1p-3,
  0x1.58e8ec1p-2, 0x1.58e8ec1p-1, 0x1.58e8ec1p0, 0x1.58e8ec1p1, 0x1.58e8ec1p2,
  0x1.1fb222ep2, 0x1.5a8920fp1, 0x1.5a8920fp2, 0x1.22f28cbp2, 0x1.678ac84p1,
  0x1.678ac84p2, 0x1.3cf5db4p2, 0x1.cf9802bp1, 0x1.ebc26b9p-1, 0x1.ebc26b9p0,
  0x1.ebc26b9p1, 0x1.668ad94p0, 0x1.668ad94p1, 0x1.668ad94p2, 0x1.3af5fd4p2,
  0x1.c7988a9p1, 0x1.abc6aacp-1, 0x1.abc6aacp0, 0x1.abc6aacp1, 0x1.9a6f588p-2,
  0x1.9a6f588p-1, 0x1.9a6f588p0, 0x1.9a6f588p1, 0x1.09f4683p-3, 0x1.09f4683p-2,
  0x1.09f4683p-1, 0x1.09f4683p0, 0x1.09f4683p1, 0x1.09f4683p2, 0x1.0392366p1,
  0x1.0392366p2, 0x1.d412de4p0, 0x1.d412de4p1, 0x1.07cca42p0, 0x1.07cca42p1,
  0x1.07cca42p2, 0x1.f5e64c5p0, 0x1.f5e64c5p1, 0x1.8f1a5c3p0, 0x1.8f1a5c3p1,
  0x1.8f1a5c3p2, 0x1.8c15033p2, 0x1.860a512p2, 0x1.79f4edp2, 0x1.61ca24dp2,
  0x1.3174946p2, 0x1.a192e71p1, 0x1.ee66398p-3, 0x1.ee66398p-2, 0x1.ee66398p-1,
  0x1.ee66398p0, 0x1.ee66398p1, 0x1.711a111p0, 0x1.711a111p1, 0x1.711a111p2,
  0x1.50146cdp2, 0x1.0e09247p2, 0x1.13e5275p1, 0x1.13e5275p2, 0x1.2b5532bp1,
  0x1.2b5532bp2, 0x1.8915606p1, 0x1.8915606p2, 0x1.800b0b8p2, 0x1.6df661dp2,
  0x1.49cd0e5p2, 0x1.017a677p2, 0x1.c35466cp0, 0x1.c35466cp1, 0x1.89a58c4p-1,
  0x1.89a58c4p0, 0x1.89a58c4p1, 0x1.89a58c4p2, 0x1.812b633p2, 0x1.7037113p2,
  0x1.4e4e6d3p2, 0x1.0a7d251p2, 0x1.05b529ep1, 0x1.05b529ep2, 0x1.e52a7a6p0};

static const f64 turns_low[105] = {
  0, 0, 0, 0x1.de973dcb3b39ap-29,
  0x1.de973dcb3b39ap-28, 0x1.63d0d3e0a0805p-31, 0x1.63d0d3e0a0805p-30, 0x1.63d0d3e0a0805p-29,
  0x1.63d0d3e0a0805p-28, 0x1.b6ed46a6de9d7p-28, 0x1.b6ed46a6de9d7p-27, 0x1.cb00b98118127p-28,
  0x1.42a688f3e6e0ep-27, 0x1.fcf2e15a9c902p-27, 0x1.c62e48a01fba7p-29, 0x1.6af3cf0b7aae9p-29,
  0x1.6af3cf0b7aae9p-28, 0x1.6af3cf0b7aae9p-27, 0x1.3635b62710adep-29, 0x1.6055432b92ab6p-34,
  0x1.6055432b92ab6p-33, 0x1.6055432b92ab6p-32, 0x1.6055432b92ab6p-31, 0x1.6055432b92ab6p-30,
  0x1.6055432b92ab6p-29, 0x1.3e838844c120cp-30, 0x1.8e8d6307fe2d3p-28, 0x1.8e8d6307fe2d3p-27,
  0x1.29812b0596518p-28, 0x1.424df4f0ca3fdp-28, 0x1.424df4f0ca3fdp-27, 0x1.fc41b954634dfp-27,
  0x1.c0a5086e55a96p-29, 0x1.7f853a9f9a315p-31, 0x1.7f853a9f9a315p-30, 0x1.7f853a9f9a315p-29,
  0x1.bb436614df386p-30, 0x1.bb436614df386p-29, 0x1.bb436614df386p-28, 0x1.32e93587ae06dp-27,
  0x1.baf0750455b7fp-28, 0x1.94b223b92432cp-30, 0x1.94b223b92432cp-29, 0x1.94b223b92432cp-28,
  0x1.8afe657e60255p-32, 0x1.8afe657e60255p-31, 0x1.8afe657e60255p-30, 0x1.8afe657e60255p-29,
  0x1.a4a0463fdc21ep-32, 0x1.a4a0463fdc21ep-31, 0x1.a4a0463fdc21ep-30, 0x1.a4a0463fdc21ep-29,
  0x1.a4a0463fdc21ep-28, 0x1.a4a0463fdc21ep-27, 0x1.81ccb7e50e243p-28, 0x1.81ccb7e50e243p-27,
  0x1.ecfcfcf3ac5b5p-29, 0x1.ecfcfcf3ac5b5p-28, 0x1.928b3199eca6ep-29, 0x1.928b3199eca6ep-28,
  0x1.928b3199eca6ep-27, 0x1.cbc32a6a81c2ap-31, 0x1.cbc32a6a81c2ap-30, 0x1.aa5a6835bcfc4p-29,
  0x1.aa5a6835bcfc4p-28, 0x1.aa5a6835bcfc4p-27, 0x1.98b53fbc918dep-28, 0x1.105b0f2f605c4p-27,
  0x1.985bedd18f86fp-27, 0x1.50bb562bdbb89p-28, 0x1.90c24b3d550dep-28, 0x1.0d0356047b88ep-32,
  0x1.0ec09a62d0debp-32, 0x1.0ec09a62d0debp-31, 0x1.0ec09a62d0debp-30, 0x1.0ec09a62d0debp-29,
  0x1.0ec09a62d0debp-28, 0x1.999a7567eb471p-33, 0x1.999a7567eb471p-32, 0x1.999a7567eb471p-31,
  0x1.aad91e1fcc375p-27, 0x1.9ab01764ce79fp-28, 0x1.255e6d79d485fp-31, 0x1.255e6d79d485fp-30,
  0x1.81fad5a287dfcp-28, 0x1.81fad5a287dfcp-27, 0x1.ee6deadf7a37dp-29, 0x1.ee6deadf7a37dp-28,
  0x1.6613ba5249063p-27, 0x1.0f35105d836b3p-29, 0x1.ff4057a19084p-27, 0x1.76267eb5efd66p-27,
  0x1.8fcb337ab9ec9p-29, 0x1.8fcb337ab9ec9p-28, 0x1.dc40bb622ebdap-33, 0x1.dc40bb622ebdap-32,
  0x1.dc40bb622ebdap-31, 0x1.dc40bb622ebdap-30, 0x1.eeb5fe4b5a7ddp-27, 0x1.5511cc0983ca1p-27,
  0x1.0e4b3c2eb313cp-30, 0x1.bb389e7e7b936p-27, 0x1.dc2e18df8bea3p-28, 0x1.dc2e18df8bea3p-27,
  0x1.8010098f35163p-30};

// x less n quarters of a turn, at most half a quarter. A large x is 24 bits times a power of two, so
// it is replaced by 24 bits times what that power leaves of whole turns. A quarter comes in three
// parts, the first two of 26 bits, such that n times them is exact.
__attribute__((always_inline))
static inline f64 less_quarters(f32 x, u64 *n) {
  u32 bits = bits_f32(x) & 0x7fffffff;
  s32 power = (s32)(bits >> 23) - 150;
  s32 place = power < 0 ? 0 : power > 104 ? 104 : power;
  f64 digits = __builtin_copysign((f64)(s32)((bits & 0x7fffff) | 0x800000), (f64)x);
  f64 high = power < 0 ? (f64)x : digits * turns_high[place];
  f64 low = power < 0 ? -0.0 : digits * turns_low[place];
  f64 biased = high * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  f64 whole = biased - 0x1.8p52;
  *n = bits_f64(biased);
  f64 r = multiply_add_f64(whole, -0x1.921fb5p0, high);
  r = multiply_add_f64(whole, -0x1.110b46p-26, r);
  return multiply_add_f64(whole, -0x1.1a62633145c07p-54, r) + low;
}

// The sine of at most half a quarter (FreeBSD's C library).
static inline f64 small_sine(f64 r) {
  f64 square = r * r;
  f64 p = 2.7183114939898219064e-6;
  p = multiply_add_f64(p, square, -1.98393348360966317347e-4);
  p = multiply_add_f64(p, square, 8.3333293858894631756e-3);
  p = multiply_add_f64(p, square, -1.66666666416265235595e-1);
  return r * multiply_add_f64(p, square, 1.0);
}

static inline f64 small_cosine(f64 r) {
  f64 square = r * r;
  f64 p = 2.43904487962774090654e-5;
  p = multiply_add_f64(p, square, -1.38867637746099294692e-3);
  p = multiply_add_f64(p, square, 4.16666233237390631894e-2);
  p = multiply_add_f64(p, square, -4.99999997251031003120e-1);
  return multiply_add_f64(p, square, 1.0);
}

// In every second quarter the sine is a cosine; in the second half of a turn it is negative.
__attribute__((always_inline))
static inline f32 sine_f32(f32 x) {
  u64 n;
  f64 r = less_quarters(x, &n);
  f64 sine = small_sine(r), cosine = small_cosine(r);
  f64 size = n & 1 ? cosine : sine;
  f32 value = (f32)(n & 2 ? -size : size);
  return x - x == 0 ? value : __builtin_nanf("");
}

static inline f64 sine_f64(f64 x) {
  return __builtin_sin(x);
}

__attribute__((always_inline))
static inline f32 cosine_f32(f32 x) {
  u64 n;
  f64 r = less_quarters(x, &n);
  f64 sine = small_sine(r), cosine = small_cosine(r);
  f64 size = n & 1 ? sine : cosine;
  f32 value = (f32)((n + 1) & 2 ? -size : size);
  return x - x == 0 ? value : __builtin_nanf("");
}

static inline f64 cosine_f64(f64 x) {
  return __builtin_cos(x);
}

__attribute__((always_inline))
static inline f32 tangent_f32(f32 x) {
  u64 n;
  f64 r = less_quarters(x, &n);
  f64 sine = small_sine(r), cosine = small_cosine(r);
  f32 value = (f32)((n & 1 ? -cosine : sine) / (n & 1 ? sine : cosine));
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
