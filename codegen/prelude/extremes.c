// The extreme of some floats is found as the largest of their keys, integers of the same order. NaN
// has the largest of all; -0 and 0 have the same one.

static inline s32 greatest_key_f32(f32 x) {
  return x != x ? 0x7fffffff : total_order_f32(x + 0);
}

static inline s64 greatest_key_f64(f64 x) {
  return x != x ? 0x7fffffffffffffff : total_order_f64(x + 0);
}

static inline s32 least_key_f32(f32 x) {
  return x != x ? 0x7fffffff : ~total_order_f32(x + 0);
}

static inline s64 least_key_f64(f64 x) {
  return x != x ? 0x7fffffffffffffff : ~total_order_f64(x + 0);
}

// A place and the sign of the zero there.
static inline u32 numbered_zero_f32(f32 x, u32 place) {
  return x == 0 ? place << 1 | bits_f32(x) >> 31 : 0;
}

static inline u32 numbered_zero_f64(f64 x, u32 place) {
  return x == 0 ? place << 1 | (u32)(bits_f64(x) >> 63) : 0;
}

// The float of a key; the sign of a zero is that of a numbered one.
static inline f32 extreme_of_key_f32(s32 key, u32 zero) {
  return from_bits_f32(key == 0 ? zero << 31 : (u32)ordered_bits_f32(key));
}

static inline f64 extreme_of_key_f64(s64 key, u32 zero) {
  return from_bits_f64(key == 0 ? (u64)zero << 63 : (u64)ordered_bits_f64(key));
}
