// The bits of floats as integers, and back.

static inline u32 bits_f32(f32 x) {
  u32 bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}

static inline f32 from_bits_f32(u32 bits) {
  f32 x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}

static inline u64 bits_f64(f64 x) {
  u64 bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}

static inline f64 from_bits_f64(u64 bits) {
  f64 x;
  __builtin_memcpy(&x, &bits, 8);
  return x;
}

// Integers that are ordered as floats are in total order: -NaN, -inf, ..., -0, +0, ..., +NaN. All
// bits but the sign are inverted if that is set; without a condition, for signs are hard to predict.
static inline s32 ordered_bits_f32(s32 bits) {
  return bits ^ (s32)((u32)(bits >> 31) >> 1);
}

static inline s64 ordered_bits_f64(s64 bits) {
  return bits ^ (s64)((u64)(bits >> 63) >> 1);
}

static inline s32 total_order_f32(f32 x) {
  return ordered_bits_f32((s32)bits_f32(x));
}

static inline s64 total_order_f64(f64 x) {
  return ordered_bits_f64((s64)bits_f64(x));
}
