// Counts of bits by an instruction, where there is one for vectors: see `codegen/prelude/integers.c`.

// Halves of 64 bits are counted: gcc 12 takes two constants of 64 bits in a vector for numbers of one
// bit, and gives them back.
static inline $C popcnt_$T($C x) {
#if defined(__AVX512VPOPCNTDQ__) && defined(__AVX512BITALG__)
  $U bits = ($U)(($U)x & $M);
  u32 high = (u32)($W > 32 ? bits >> ($W > 32 ? 32 : 0) : 0);
  return ($C)(__builtin_popcount((u32)bits) + __builtin_popcount(high));
#else
  return sum_of_bits_$T(x);
#endif
}
