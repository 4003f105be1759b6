// Functions for which the hardware has an instruction.

static __device__ inline u32 bits_f32(f32 x) {
  return __float_as_uint(x);
}

static __device__ inline f32 from_bits_f32(u32 bits) {
  return __uint_as_float(bits);
}

static __device__ inline u64 bits_f64(f64 x) {
  return (u64)__double_as_longlong(x);
}

static __device__ inline f64 from_bits_f64(u64 bits) {
  return __longlong_as_double((s64)bits);
}

// Constants, so that tables of constants may have them.
static __device__ constexpr f32 infinity_f32() {
  return __builtin_bit_cast(f32, 0x7f800000u);
}

static __device__ constexpr f64 infinity_f64() {
  return __builtin_bit_cast(f64, 0x7ff0000000000000ll);
}

static __device__ constexpr f32 quiet_nan_f32() {
  return __builtin_bit_cast(f32, 0x7fc00000u);
}

static __device__ constexpr f64 quiet_nan_f64() {
  return __builtin_bit_cast(f64, 0x7ff8000000000000ll);
}

// The larger number, or the smaller one; NaN if either is, and of the zeros +0, or -0.
//: maximum max, minimum min
static __device__ inline f32 $1_f32(f32 x, f32 y) {
  f32 found;
  asm("$2.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(x), "f"(y));
  return found;
}

// CUDA's own functions take half the instructions of the polynomials that all emitters share.
//: exp, log, log1p, tanh
static __device__ inline f32 $1_f32(f32 x) {
  return $1f(x);
}

// 1 / x as a division rounds it: a step of Newton's method does that to the hardware's reciprocal, as
// in NVIDIA's own division. The value is right where that is a small step: near the ends of the range,
// and of 0, infinity and NaN, it is not.
static __device__ inline f32 quick_reciprocal_f32(f32 x, f32 &largest_step) {
  f32 near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(x));
  f32 step = fmaf(-x, near, 1.0f);
  largest_step = maximum_f32(largest_step, fabsf(step));
  return fmaf(near, step, near);
}

static __device__ inline f32 logistic_f32(f32 x) {
  f32 value;
  asm("rcp.approx.f32 %0, %1;" : "=f"(value) : "f"(1.0f + expf(-x)));
  return value;
}

// Ends the launch if the program is interrupted. A GPU can't be asked from within a kernel.
static __device__ inline void poll_for_stop() {
#ifdef CUDA_ON_HOST
  cuda_on_host::poll();
#endif
}

// A product that is rounded before it is added to: no file is compiled with contractions.
static __device__ inline $T rounded_$T($T product) {
  return product;
}

//: f32 fmaf, f64 fma
static __device__ inline $1 multiply_add_$1($1 x, $1 y, $1 z) {
  return $2(x, y, z);
}

static __device__ inline f32 remainder_f32(f32 x, f32 y) {
  return fmodf(x, y);
}

static __device__ inline s64 mulhi_signed_s64(s64 x, s64 y) {
  return __mul64hi(x, y);
}

static __device__ inline u64 mulhi_unsigned_u64(u64 x, u64 y) {
  return __umul64hi(x, y);
}

// The high half of the product that has twice the width.
static __device__ inline $C mulhi_signed_$T($C x, $C y) {
  return ($C)(((s64)x * y) >> $W);
}

static __device__ inline $C mulhi_unsigned_$T($C x, $C y) {
  return ($C)(((u64)x * y) >> $W);
}

// Adds four numbers to four in memory that an H100 adds to by one instruction.
static __device__ inline void add_four(f32 *to, f32x4 values) {
#if __CUDA_ARCH__ >= 900
  atomicAdd((float4 *)to, make_float4(values[0], values[1], values[2], values[3]));
#else
  for (int k = 0; k < 4; k++) atomicAdd(to + k, values[k]);
#endif
}

// The state of the device's own generator of random numbers.
static __device__ u64 random_state[2];

// Every run begins where the others do: no caller draws from another part of the sequence.
static __device__ void seed_random_state() {
  random_state[0] = 0x7012395;
  random_state[1] = 0;
}

// Numbers of rows become columns: number `from[c * from_column + r]` goes to `to[r * to_row + c]`.
static __device__ inline void hlo_transpose_u64(u64 *to, const u64 *from, s64 rows, s64 columns,
                                                s64 to_row, s64 from_column) {
  for (s64 c = 0; c < columns; c++) {
    for (s64 r = 0; r < rows; r++) to[r * to_row + c] = from[c * from_column + r];
  }
}
