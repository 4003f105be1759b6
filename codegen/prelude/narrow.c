// Floats of 16 bits and less: their storage, and rounding to them.

static inline f32 load_bf16(bf16 x) {
  return from_bits_f32((u32)x << 16);
}

// x rounded to bf16: adding just under half of the last kept place, and 1 more if that place is odd,
// rounds to even.
static inline bf16 store_bf16(f32 x) {
  u32 bits = bits_f32(x);
  u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (bf16)(x != x ? (bits >> 16 & 0x8000) | 0x7fc0 : rounded);
}

// x rounded to bf16 and widened again: the bits that are kept stay in their place. Adding just under
// half of the last one, and 1 more if that is odd, rounds to even.
static inline f32 narrow_bf16(f32 x) {
  u32 bits = bits_f32(x);
  u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  return from_bits_f32(x != x ? (bits & 0x80000000) | 0x7fc00000 : rounded);
}

// A multiplication puts the exponent right, for subnormals too; infinity and NaN stay as they are.
static inline f32 load_f16(f16 x) {
  u32 size = (u32)(x & 0x7fff) << 13;
  f32 finite = from_bits_f32(size) * 0x1p112f;
  u32 bits = size >= 0x0f800000 ? size | 0x7f800000 : bits_f32(finite);
  return from_bits_f32(bits | (u32)(x & 0x8000) << 16);
}

static inline f16 store_f16(f32 x) {
  u32 sign = bits_f32(x) >> 16 & 0x8000;
  return (f16)(sign | small_float(x, 5, 10, 15, 0x7c00, 0x7c00, 0x7e00));
}

// x rounded to f16 and widened again. Below the smallest normal number what is added leaves just the
// digits that are kept; from 2^16 on all is infinite.
static inline f32 narrow_f16(f32 x) {
  u32 bits = bits_f32(x), size = bits & 0x7fffffff;
  u32 rounded = (size + 0xfff + (size >> 13 & 1)) & 0xffffe000;
  f32 small = from_bits_f32(size) + 0.5f - 0.5f;
  rounded = size < 0x38800000 ? bits_f32(small) : rounded;
  rounded = rounded >= 0x47800000 ? 0x7f800000 : rounded;
  return from_bits_f32((size > 0x7f800000 ? 0x7fc00000 : rounded) | (bits & 0x80000000));
}

// f64 to a narrower f32 that rounds on, to less than half its digits, as the f64 itself would:
// cut off, with a last bit that says whether anything was lost.
static inline f32 odd_f32(f64 x) {
  f32 near = (f32)x;
  u32 bits = bits_f32(near);
  f64 back = near;
  u32 too_large = __builtin_fabs(back) > __builtin_fabs(x) ? 1u : 0u;
  u32 inexact = back != x && x == x && back - back == 0 ? 1u : 0u;
  return from_bits_f32((bits - too_large) | inexact);
}

// The code, without its sign, of a float in a format of few bits: rounded to nearest even.
// Beyond `largest` it is `overflow`; numbers below the smallest normal one are rounded as multiples
// of the smallest subnormal, by an addition that leaves just their digits in the mantissa.
static inline u32 small_float(f32 x, int exponent_bits, int mantissa_bits, int bias,
                              u32 largest, u32 overflow, u32 nan) {
  u32 size = bits_f32(x) & 0x7fffffff;
  int dropped = 23 - mantissa_bits;
  u32 normal = (size + ((1u << (dropped - 1)) - 1) + (size >> dropped & 1)) >> dropped;
  normal -= (u32)(127 - bias) << mantissa_bits;
  u32 magic = (u32)(127 + 23 + 1 - bias - mantissa_bits) << 23;
  u32 subnormal = bits_f32(from_bits_f32(size) + from_bits_f32(magic)) - magic;
  u32 code = size < (u32)(128 - bias) << 23 ? subnormal : normal;
  code = size >= (u32)(127 - bias + (1 << exponent_bits)) << 23 || code > largest ? overflow : code;
  return size > 0x7f800000 ? nan : code;
}

// The extremes of floats of 16 bits are found among integers of 16 bits: the total order of what is
// stored, NaN beyond everything.
//: bf16 0x7f80, f16 0x7c00
static inline s16 maximum_key_$1($1 x) {
  return (s16)((x & 0x7fff) > $2 ? 0x7fff : (s16)x ^ ((s16)x >> 15 & 0x7fff));
}

//: bf16 0x7f80, f16 0x7c00
static inline s16 minimum_key_$1($1 x) {
  return (s16)((x & 0x7fff) > $2 ? -0x8000 : (s16)x ^ ((s16)x >> 15 & 0x7fff));
}

//: bf16 0x7fc0, f16 0x7e00
static inline $1 maximum_of_key_$1(s16 key) {
  return ($1)(key == 0x7fff ? $2 : key ^ (key >> 15 & 0x7fff));
}

//: bf16 0xffc0, f16 0xfe00
static inline $1 minimum_of_key_$1(s16 key) {
  return ($1)(key == -0x8000 ? $2 : key ^ (key >> 15 & 0x7fff));
}

//: bf16 maximum >=, bf16 minimum <=, f16 maximum >=, f16 minimum <=
static inline $1 $2_$1($1 x, $1 y) {
  return $2_key_$1(x) $3 $2_key_$1(y) ? x : y;
}
