// Floats of 16 bits, for whose rounding the hardware has an instruction. It gives each NaN the same bits.
// Two of them fill a register, as a pair: the low half comes first in memory.

//: bf16, f16
static __device__ inline $1 store_$1(f32 x) {
  $1 rounded;
  asm("cvt.rn.$1.f32 %0, %1;" : "=h"(rounded) : "f"(x));
  return rounded;
}

// The high half of a pair is where an f32 has these bits.
static __device__ inline f32 narrow_bf16(f32 x) {
  return from_bits_f32(pair_bf16(0.0f, x));
}

static __device__ inline f32 load_f16(f16 x) {
  f32 wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}

static __device__ inline f32 narrow_f16(f32 x) {
  return load_f16(store_f16(x));
}

// Two numbers rounded, each to a half of a pair.
static __device__ inline u32 pair_$T(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.$Tx2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

static __device__ inline f32 low_of_bf16(u32 pair) {
  return from_bits_f32(pair << 16);
}

static __device__ inline f32 high_of_bf16(u32 pair) {
  return from_bits_f32(pair & 0xffff0000u);
}

static __device__ inline f32 low_of_f16(u32 pair) {
  return load_f16((f16)pair);
}

static __device__ inline f32 high_of_f16(u32 pair) {
  return load_f16((f16)(pair >> 16));
}

// f32 has more than twice the digits of these types, and two more: so a sum or product that is
// rounded to f32 and then to one of them is the one that is rounded once.
//: add add +, subtract sub -, multiply mul *
static __device__ inline u32 $1_pairs_$T(u32 x, u32 y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return pair_$T(low_of_$T(x) $3 low_of_$T(y), high_of_$T(x) $3 high_of_$T(y));
#else
  u32 results;
  asm("$2.rn.$Tx2 %0, %1, %2;" : "=r"(results) : "r"(x), "r"(y));
  return results;
#endif
}

//: maximum max, minimum min
static __device__ inline u32 $1_pairs_$T(u32 x, u32 y) {
  u32 results;
  asm("$2.NaN.$Tx2 %0, %1, %2;" : "=r"(results) : "r"(x), "r"(y));
  return results;
}

// Adds to a number of 2 bytes in memory, in one step.
static __device__ inline void atomic_add_bf16(bf16 *to, f32 value) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.noftz.bf16 [%0], %1;" :: "l"(to), "h"(store_bf16(value)) : "memory");
#else
  exchange_sum_bf16(to, value);
#endif
}

// The same.
static __device__ inline void atomic_add_f16(f16 *to, f32 value) {
#ifdef __CUDA_ARCH__
  asm volatile("red.global.add.noftz.f16 [%0], %1;" :: "l"(to), "h"(store_f16(value)) : "memory");
#else
  exchange_sum_f16(to, value);
#endif
}

// Adds to a number in memory by exchanging it for the sum, until nobody has changed it meanwhile.
static __device__ inline void exchange_sum_$T($T *to, f32 value) {
  u16 was = 0, seen;
  do {
    seen = was;
    was = atomicCAS((u16 *)to, seen, store_$T(load_$T(seen) + value));
  } while (was != seen);
}
