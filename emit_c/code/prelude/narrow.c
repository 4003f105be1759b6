// Conversions of single numbers of f16, by an instruction where there is one. Not by `_Float16`, of which
// gcc 12 compares two by a call. NaN is stored as by `store_f16`.
static inline f32 load_one_f16(f16 x) {
#if defined(__F16C__) && !defined(__clang__)
  typedef short halves __attribute__((vector_size(16)));
  return __builtin_ia32_vcvtph2ps((halves){(short)x})[0];
#else
  return load_f16(x);
#endif
}

static inline f16 store_one_f16(f32 x) {
#if defined(__F16C__) && !defined(__clang__)
  typedef f32 numbers __attribute__((vector_size(16)));
  f16 stored = (f16)__builtin_ia32_vcvtps2ph((numbers){x}, 0)[0];
  return (f16)(x == x ? stored : (bits_f32(x) >> 16 & 0x8000) | 0x7e00);
#else
  return store_f16(x);
#endif
}

static inline f32 narrow_one_f16(f32 x) {
#if defined(__F16C__) && !defined(__clang__)
  return load_one_f16(store_one_f16(x));
#else
  return narrow_f16(x);
#endif
}
