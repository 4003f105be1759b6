// Division of many integers. Vector lanes divide floats, but no integers; so these are quotients of
// floats, truncated. $T is the element type, $C the C type that holds its values. As in `integers.c`
// all bits of a quotient by 0 are set, and x is left.
//
// A divisor that all lanes share (`shared`) is divided by once, before the loop: its reciprocal, a
// little too large, times x is never below the quotient, and the next whole number is further off.
//
// Of a divisor that all lanes share gcc 12 makes no masks: so where y is 0 is in the bits of a number.

// Of integers of less than 24 bits: a quotient that is no whole number is further from the next one
// than f32 rounds.
static inline s32 lane_truncated_s16(s32 x, s32 divisor) {
  return (s32)((f32)x / (f32)divisor);
}

static inline s32 shared_truncated_s16(s32 x, s32 divisor) {
  return (s32)((f32)x * ((1 + 0x1p-20f) / (f32)divisor));
}

//: lane, shared
static inline $C $1_quotient_$T($C x, $C y) {
  s32 nothing = -(y == 0);
  return ($C)($1_truncated_s16(x, y - nothing) | nothing);
}

//: lane, shared
static inline $C $1_remainder_$T($C x, $C y) {
  s32 nothing = -(y == 0), divisor = y - nothing;
  return ($C)(x - ($1_truncated_s16(x, divisor) * divisor & ~nothing));
}

// In f64, whose quotients tell those of 32 bits apart. INT_MIN / -1 wraps around.
static inline s32 wrapped_s32(f64 quotient) {
  return (s32)(quotient < 0x1p31 ? quotient : -0x1p31);
}

static inline s32 lane_truncated_s32(s32 x, s32 divisor) {
  return wrapped_s32((f64)x / (f64)divisor);
}

static inline s32 shared_truncated_s32(s32 x, s32 divisor) {
  return wrapped_s32((f64)x * ((1 + 0x1p-40) / (f64)divisor));
}

static inline u32 lane_truncated_u32(u32 x, u32 divisor) {
  return (u32)((f64)x / (f64)divisor);
}

static inline u32 shared_truncated_u32(u32 x, u32 divisor) {
  return (u32)((f64)x * ((1 + 0x1p-40) / (f64)divisor));
}

//: lane s32, shared s32, lane u32, shared u32
static inline $2 $1_quotient_$2($2 x, $2 y) {
  $2 nothing = -($2)(y == 0);
  return $1_truncated_$2(x, y - nothing) | nothing;
}

//: lane s32, shared s32, lane u32, shared u32
static inline $2 $1_remainder_$2($2 x, $2 y) {
  $2 nothing = -($2)(y == 0), divisor = y - nothing;
  return x - ($1_truncated_$2(x, divisor) * divisor & ~nothing);
}

// A quotient of 64 bits in two steps: one that is right to 48 bits, and that of what it leaves. The
// reciprocal is a little too small, so that both are at most what they should be, by less than 2.
static inline u64 truncated_u64(u64 x, u64 divisor) {
  f64 reciprocal = (1 - 0x1p-49) / (f64)divisor;
  u64 quotient = (u64)((f64)x * reciprocal);
  u64 left = x - quotient * divisor, more = (u64)((f64)left * reciprocal);
  left -= more * divisor;
  return quotient + more + (left >= divisor ? 1 : 0);
}

// Of magnitudes: that of INT_MIN is 2^63, and its quotient by -1 wraps around.
static inline s64 truncated_s64(s64 x, s64 divisor) {
  u64 sign_x = (u64)(x >> 63), sign = (u64)(divisor >> 63), both = sign_x ^ sign;
  u64 quotient = truncated_u64(((u64)x ^ sign_x) - sign_x, ((u64)divisor ^ sign) - sign);
  return (s64)((quotient ^ both) - both);
}

//: s64, u64
static inline $1 lane_quotient_$1($1 x, $1 y) {
  $1 nothing = -($1)(y == 0);
  return truncated_$1(x, y - nothing) | nothing;
}

//: s64, u64
static inline $1 lane_remainder_$1($1 x, $1 y) {
  $1 nothing = -($1)(y == 0), divisor = y - nothing;
  return x - (truncated_$1(x, divisor) * divisor & ~nothing);
}
