// Division of many integers. Vector lanes divide floats, but no integers; so these are quotients of
// floats, truncated. $T is the element type, $C the C type that holds its values. As in `integers.c`
// all bits of a quotient by 0 are set, and x is left.
//
// Of a divisor that all lanes share gcc 12 makes no masks: so where y is 0 is in the bits of a number.

// Of integers of less than 24 bits: a quotient that is no whole number is further from the next one
// than f32 rounds.
static inline s32 truncated_s16(s32 x, s32 divisor) {
  return (s32)((f32)x / (f32)divisor);
}

static inline $C lane_quotient_$T($C x, $C y) {
  s32 nothing = -(y == 0);
  return ($C)(truncated_s16(x, y - nothing) | nothing);
}

static inline $C lane_remainder_$T($C x, $C y) {
  s32 nothing = -(y == 0), divisor = y - nothing;
  return ($C)(x - (truncated_s16(x, divisor) * divisor & ~nothing));
}

// In f64, whose quotients tell those of 32 bits apart. INT_MIN / -1 wraps around.
static inline s32 truncated_s32(s32 x, s32 divisor) {
  f64 quotient = (f64)x / (f64)divisor;
  return (s32)(quotient < 0x1p31 ? quotient : -0x1p31);
}

static inline s32 lane_quotient_s32(s32 x, s32 y) {
  s32 nothing = -(y == 0);
  return truncated_s32(x, y - nothing) | nothing;
}

static inline s32 lane_remainder_s32(s32 x, s32 y) {
  s32 nothing = -(y == 0), divisor = y - nothing;
  return x - (truncated_s32(x, divisor) * divisor & ~nothing);
}

static inline u32 lane_quotient_u32(u32 x, u32 y) {
  u32 nothing = -(u32)(y == 0);
  return (u32)((f64)x / (f64)(y - nothing)) | nothing;
}

static inline u32 lane_remainder_u32(u32 x, u32 y) {
  u32 nothing = -(u32)(y == 0), divisor = y - nothing;
  return x - ((u32)((f64)x / (f64)divisor) * divisor & ~nothing);
}

// A quotient of 64 bits in two steps: one that is right to 51 bits, and that of what it leaves. What
// is left then is right, or beyond 0: where f64 rounded a quotient up to the next whole number.
static inline s64 truncated_s64(s64 x, s64 divisor) {
  f64 near = (f64)divisor, first = (f64)x / near;
  s64 quotient = (s64)(first < 0x1p63 ? first : 0x1.fffffffffffffp62);
  s64 left = x - quotient * divisor;
  s64 more = (s64)((f64)left / near);
  left -= more * divisor;
  s64 sign = x >> 63, beyond = (left ^ sign) - sign < 0 ? 1 : 0;
  s64 away = (x ^ divisor) >> 63 | 1;
  return quotient + more - beyond * away;
}

static inline s64 lane_quotient_s64(s64 x, s64 y) {
  s64 nothing = -(s64)(y == 0);
  return truncated_s64(x, y - nothing) | nothing;
}

static inline s64 lane_remainder_s64(s64 x, s64 y) {
  s64 nothing = -(s64)(y == 0), divisor = y - nothing;
  return x - (truncated_s64(x, divisor) * divisor & ~nothing);
}

// An unsigned quotient in two steps. What is left may be read as signed, but where the divisor has
// the highest bit: then the quotient is 1 or 0.
static inline u64 truncated_u64(u64 x, u64 divisor) {
  f64 near = (f64)divisor, first = (f64)x / near;
  u64 quotient = (u64)(first < 0x1p64 ? first : 0x1.fffffffffffffp63);
  s64 left = (s64)(x - quotient * divisor);
  s64 more = (s64)((f64)left / near);
  left -= (s64)((u64)more * divisor);
  quotient += (u64)more + (u64)(left >> 63);
  u64 once = x >= divisor ? 1 : 0, large = (u64)((s64)divisor >> 63);
  return (quotient & ~large) | (once & large);
}

static inline u64 lane_quotient_u64(u64 x, u64 y) {
  u64 nothing = -(u64)(y == 0);
  return truncated_u64(x, y - nothing) | nothing;
}

static inline u64 lane_remainder_u64(u64 x, u64 y) {
  u64 nothing = -(u64)(y == 0), divisor = y - nothing;
  return x - (truncated_u64(x, divisor) * divisor & ~nothing);
}
