// To the sum in each lane, four unsigned bytes of x times four signed ones of y.
//: 16 vpdpbusd512 vpdpbusd_v16si, 8 vpdpbusd256 vpdpbusd_v8si
#if defined(__AVX512VNNI__) && ($1 == 16 || defined(__AVX512VL__)) || defined(__AVXVNNI__) && $1 == 8
#ifdef __clang__
#define add_bytes_$1(sum, x, y) (s32x$1)__builtin_ia32_$2((s32x$1)(sum), (s32x$1)(x), (s32x$1)(y))
#else
#define add_bytes_$1(sum, x, y) (s32x$1)__builtin_ia32_$3((s32x$1)(sum), (s32x$1)(x), (s32x$1)(y))
#endif
#else
#define byte_products_$1(x, y, k) ((s32x$1)(x) >> k & 255) * ((s32x$1)(y) << (24 - k) >> 24)
#define add_bytes_$1(sum, x, y) ((s32x$1)(sum) + byte_products_$1(x, y, 0) + byte_products_$1(x, y, 8) \
    + byte_products_$1(x, y, 16) + byte_products_$1(x, y, 24))
#endif

// To the f32 in each lane, two bf16 of x times two of y: one after the other, and subnormal numbers are
// zeros. The operands of the instruction have another type in each compiler.
//: 16, 8, 4
#if defined(__AVX512BF16__) && $1 == 16
#define add_pairs_$1(sum, x, y) dpbf16ps_512((sum), (bf16_pairs)(x), (bf16_pairs)(y))
#if defined(__clang__) && __clang_major__ < 16
typedef s32 bf16_pairs __attribute__((vector_size(64)));
#elif !defined(__clang__) && __GNUC__ < 13
typedef s16 bf16_pairs __attribute__((vector_size(64)));
#else
typedef __bf16 bf16_pairs __attribute__((vector_size(64)));
#endif
#ifdef __clang__
#define dpbf16ps_512 __builtin_ia32_dpbf16ps_512
#else
#define dpbf16ps_512 __builtin_ia32_dpbf16ps_v16sf
#endif
#else
#define add_pairs_$1(sum, x, y) ((sum) \
    + (f32x$1)((s32x$1)(x) & ~0xffff) * (f32x$1)((s32x$1)(y) & ~0xffff) \
    + (f32x$1)((s32x$1)(x) << 16) * (f32x$1)((s32x$1)(y) << 16))
#endif

// Whether the compiler knows registers of whole tiles, for bytes and for bf16.
#if defined(__AMX_INT8__) && defined(__AMX_BF16__) || defined(__AMXINT8__) && defined(__AMXBF16__)
#define KNOWS_WHOLE_TILES 1
#else
#define KNOWS_WHOLE_TILES 0
#endif

// Whether this process may use registers of whole tiles, for which it asks Linux once: by the call
// arch_prctl, with ARCH_REQ_XCOMP_PERM and the number of these registers.
static inline int may_use_tiles(void) {
#if KNOWS_WHOLE_TILES
  extern long syscall(long number, ...);
  static int known;
  int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!answer) {
    answer = syscall(158, 0x1023, 18) ? -1 : 1;
    __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
  }
  return answer > 0;
#else
  return 0;
#endif
}

// An instruction for registers of whole tiles; none where the compiler knows none.
#if KNOWS_WHOLE_TILES
#define tile_instruction(text, ...) __asm__ volatile(text : : __VA_ARGS__ : "memory")
#else
#define tile_instruction(text, ...)
#endif

// 64 bytes that say how many rows each register has, and how long these are.
#define configure_tiles(shapes) tile_instruction("ldtilecfg %0", "m"(*(const u8 (*)[64])(shapes)))

// The end of all work with these registers.
#define release_tiles() tile_instruction("tilerelease")

// The sums in a register become zeros.
#define zero_tile(sums) tile_instruction("tilezero %%tmm" #sums)

// A register has the rows that begin so many numbers of 32 bits from each other.
#define load_tile(number, from, row) \
  tile_instruction("tileloadd (%0,%1), %%tmm" #number, "r"(from), "r"((row) * 4))

// The rows of a register are stored, so many numbers of 32 bits from each other.
#define store_tile(sums, to, row) \
  tile_instruction("tilestored %%tmm" #sums ", (%0,%1)", "r"(to), "r"((row) * 4))

// To the sums in a register, the products of two others: the bytes of x and of w have such signs.
//: ss tdpbssd, su tdpbsud, us tdpbusd, uu tdpbuud, bf tdpbf16ps
#define multiply_tiles_$1(sums, x, w) \
  tile_instruction("$2 %%tmm" #w ", %%tmm" #x ", %%tmm" #sums)
