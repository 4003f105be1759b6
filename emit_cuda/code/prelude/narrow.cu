// Floats of 16 bits, for whose rounding the hardware has an instruction. It gives each NaN the same bits.

static __device__ inline bf16 store_bf16(f32 x) {
  bf16 rounded;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(x));
  return rounded;
}

static __device__ inline f32 narrow_bf16(f32 x) {
  return load_bf16(store_bf16(x));
}

static __device__ inline f32 load_f16(f16 x) {
  f32 wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}

static __device__ inline f16 store_f16(f32 x) {
  f16 rounded;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(x));
  return rounded;
}

static __device__ inline f32 narrow_f16(f32 x) {
  return load_f16(store_f16(x));
}
