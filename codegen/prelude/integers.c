// Integers: everything wraps around; nothing is undefined. $T is the element type, $C the C type
// that holds its values, $U and $S the unsigned and signed ones of that width, $W its bits and $M a
// mask of them.

// The quotient, truncated; all bits set where y is 0. INT_MIN / -1 wraps around.
static inline $C divide_signed_$T($C x, $C y) {
  return ($C)(y == 0 ? -1 : y == -1 ? -x : x / y);
}

static inline $C divide_unsigned_$T($C x, $C y) {
  return ($C)(y == 0 ? -1 : x / y);
}

// What division leaves; x itself where y is 0.
static inline $C remainder_signed_$T($C x, $C y) {
  return ($C)(y == 0 ? x : y == -1 ? 0 : x % y);
}

static inline $C remainder_unsigned_$T($C x, $C y) {
  return ($C)(y == 0 ? x : x % y);
}

// x to the power y by squaring. Of negative powers only those of 1 and -1 are whole numbers.
static inline $C power_signed_$T($C x, $C y) {
  if (y < 0) return ($C)(x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0);
  return ($C)power_unsigned_$V(($U)x, ($U)y);
}

static inline $C power_unsigned_$T($C x, $C y) {
  $C result = 1;
  for (; y; y >>= 1) {
    if (y & 1) result = ($C)(result * x);
    x = ($C)(x * x);
  }
  return result;
}

// Shifts: a distance is read as unsigned; from the width on nothing is left but zeros or signs.
static inline $C shift_left_$T($C x, $C distance) {
  $U steps = ($U)(($U)distance & $M);
  return ($C)(steps >= $W ? 0 : ($U)x << (steps & ($W - 1)));
}

static inline $C shift_right_logical_$T($C x, $C distance) {
  $U steps = ($U)(($U)distance & $M);
  return ($C)(steps >= $W ? 0 : (($U)x & $M) >> (steps & ($W - 1)));
}

static inline $C shift_right_arithmetic_$T($C x, $C distance) {
  $U steps = ($U)(($U)distance & $M);
  $S signed_x = ($S)(($S)(($U)x << (8 * sizeof(x) - $W)) >> (8 * sizeof(x) - $W));
  return ($C)(signed_x >> (steps >= $W ? $W - 1 : steps));
}

// Sums of the bits in pairs, fours, bytes and so on.
static inline $C sum_of_bits_$T($C x) {
  $U bits = ($U)(($U)x & $M);
  bits = ($U)(bits - (bits >> 1 & ($U)0x5555555555555555u));
  bits = ($U)((bits & ($U)0x3333333333333333u) + (bits >> 2 & ($U)0x3333333333333333u));
  bits = ($U)((bits + (bits >> 4)) & ($U)0x0f0f0f0f0f0f0f0fu);
  if ($W > 8) bits = ($U)(bits + (bits >> ($W > 8 ? 8 : 0)));
  if ($W > 16) bits = ($U)(bits + (bits >> ($W > 16 ? 16 : 0)));
  if ($W > 32) bits = ($U)(bits + (bits >> ($W > 32 ? 32 : 0)));
  return ($C)(bits & 0x7f);
}

static inline $C popcnt_$T($C x) {
  return sum_of_bits_$T(x);
}

static inline $C count_leading_zeros_$T($C x) {
  $U bits = ($U)(($U)x & $M);
  // Of 0 it is not defined; a last bit changes no other number of leading zeros.
  int zeros = $W > 32 ? __builtin_clzll(bits | 1) - 64 : __builtin_clz((u32)bits | 1) - 32;
  return ($C)(bits ? zeros + $W : $W);
}

// The high half of the product that has twice the width.
static inline $C mulhi_signed_$T($C x, $C y) {
  return ($C)(((__int128)x * y) >> $W);
}

static inline $C mulhi_unsigned_$T($C x, $C y) {
  return ($C)(((unsigned __int128)x * y) >> $W);
}

// A number of columns, brought into the range from 0 to the width of a block of them.
static inline s64 column_in_block(s64 column, s64 width) {
  return column < 0 ? 0 : column > width ? width : column;
}
