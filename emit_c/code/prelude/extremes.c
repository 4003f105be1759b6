// The first extreme of some numbers is found as the largest word. A word is a number's key; below it
// the number's place, such that earlier places make larger words; and the number's sign, because -0
// and 0 have the same key.
static inline s64 extreme_word(s32 key, s64 place, u32 negative) {
  u32 low = (0x7fffffff - (u32)place) << 1 | negative;
  return (s64)((u64)(u32)key << 32 | low);
}

static inline s64 extreme_place(s64 word) {
  return 0x7fffffff - ((u32)word >> 1);
}

// Keys of floats; NaN has the largest of all.
static inline s32 greatest_key_f32(f32 x) {
  return x != x ? 0x7fffffff : total_order_f32(x + 0);
}

static inline s32 least_key_f32(f32 x) {
  return x != x ? 0x7fffffff : ~total_order_f32(x + 0);
}

// The float of a key without sign; that is the last bit of a word, or of a numbered zero.
static inline f32 extreme_of_key_f32(s32 key, s64 word) {
  return from_bits_f32(((u32)ordered_bits_f32(key) & 0x7fffffff) | (u32)word << 31);
}

// The largest of these is that of the last zero.
static inline u32 numbered_zero_f32(f32 x, s64 place) {
  return x == 0 ? (u32)place << 1 | bits_f32(x) >> 31 : 0;
}
