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

// How many numbers of f16 an instruction converts; at most 16.
static inline s64 at_once_f16(void) {
#if defined(__clang__)
  return 1;
#elif defined(__AVX512BW__) && defined(__AVX512VL__)
  return 16;
#elif defined(__F16C__)
  return 8;
#else
  return 1;
#endif
}

// So many numbers, or as many as are left, if there are instructions with masks.
static inline void load_some_f16(f32 *to, const f16 *from, s64 left) {
#if defined(__clang__)
  (void)left;
  *to = load_f16(*from);
#elif defined(__AVX512BW__) && defined(__AVX512VL__)
  typedef f32 numbers __attribute__((vector_size(64)));
  typedef short halves __attribute__((vector_size(32)));
  u16 there = (u16)(left < 16 ? (1 << left) - 1 : -1);
  halves x = __builtin_ia32_loaddquhi256_mask((const short *)from, (halves){0}, there);
  numbers widened = __builtin_ia32_vcvtph2ps512_mask(x, (numbers){0}, -1, 4);
  __builtin_memcpy(to, &widened, sizeof widened);
#elif defined(__F16C__)
  (void)left;
  typedef f32 numbers __attribute__((vector_size(32)));
  typedef short halves __attribute__((vector_size(16)));
  halves x;
  __builtin_memcpy(&x, from, sizeof x);
  numbers widened = __builtin_ia32_vcvtph2ps256(x);
  __builtin_memcpy(to, &widened, sizeof widened);
#else
  (void)left;
  *to = load_f16(*from);
#endif
}

// NaN becomes the one that `store_f16` stores before it is rounded.
static inline void store_some_f16(f16 *to, const f32 *from, s64 left) {
#if defined(__clang__)
  (void)left;
  *to = store_f16(*from);
#elif defined(__AVX512BW__) && defined(__AVX512VL__)
  typedef f32 numbers __attribute__((vector_size(64)));
  typedef s32 bits __attribute__((vector_size(64)));
  typedef short halves __attribute__((vector_size(32)));
  bits x;
  __builtin_memcpy(&x, from, sizeof x);
  bits nan = (numbers)x != (numbers)x;
  x = (x & ~(nan & 0x7fffffff)) | (nan & 0x7fc00000);
  halves rounded = __builtin_ia32_vcvtps2ph512_mask((numbers)x, 0, (halves){0}, -1);
  u16 there = (u16)(left < 16 ? (1 << left) - 1 : -1);
  __builtin_ia32_storedquhi256_mask((short *)to, rounded, there);
#elif defined(__F16C__)
  (void)left;
  typedef f32 numbers __attribute__((vector_size(32)));
  typedef s32 bits __attribute__((vector_size(32)));
  typedef short halves __attribute__((vector_size(16)));
  bits x;
  __builtin_memcpy(&x, from, sizeof x);
  bits nan = (numbers)x != (numbers)x;
  x = (x & ~(nan & 0x7fffffff)) | (nan & 0x7fc00000);
  halves rounded = __builtin_ia32_vcvtps2ph256((numbers)x, 0);
  __builtin_memcpy(to, &rounded, sizeof rounded);
#else
  (void)left;
  *to = store_f16(*from);
#endif
}

static inline void narrow_some_f16(f32 *to, const f32 *from, s64 left) {
  (void)left;
  f16 rounded[16];
  store_some_f16(rounded, from, 16);
  load_some_f16(to, rounded, 16);
}

// Many numbers. Arrays of f32 have room for whole vectors of 16 each.
//: load f32 f16, store f16 f32, narrow f32 f32
static inline void $1_each_f16($2 *to, const $3 *from, s64 count) {
  s64 done = 0, some = at_once_f16();
  for (; done + some <= count; done += some) {
    $1_some_f16(to + done, from + done, some);
  }
  if (some == 16 && done < count) {
    $1_some_f16(to + done, from + done, count - done);
    done = count;
  }
  for (; done < count; done++) {
    to[done] = $1_one_f16(from[done]);
  }
}
