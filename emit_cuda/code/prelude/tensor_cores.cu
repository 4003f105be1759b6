// Begins to copy 16 bytes to shared memory, past the registers; of no bytes, zeros.
static __device__ inline void copy_16_bytes(void *to, const void *from, s32 bytes) {
  u32 place = (u32)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(place), "l"(from), "r"(bytes) : "memory");
}

// Puts the copies that a thread has begun together; it waits for all of them at once.
static __device__ inline void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for the copies that a thread has begun.
static __device__ inline void wait_but_for_0_copies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// Waits for them, but for the last ones that were put together.
static __device__ inline void wait_but_for_1_copies() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
}

// The same, but for the last two.
static __device__ inline void wait_but_for_2_copies() {
  asm volatile("cp.async.wait_group 2;" ::: "memory");
}

// Loads four matrices of 8 rows of 16 bytes, spread over a warp: of each row a lane has 4 bytes.
// Lanes 0 to 7 say where the rows of the first one are, the next eight those of the second one.
static __device__ inline void load_parts(u32x4 &to, const void *row) {
  u32 place = (u32)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.all[0]), "=r"(to.all[1]), "=r"(to.all[2]), "=r"(to.all[3])
               : "r"(place) : "memory");
}

// The same of matrices of 2-byte numbers, which become columns.
static __device__ inline void load_parts_turned(u32x4 &to, const void *row) {
  u32 place = (u32)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.all[0]), "=r"(to.all[1]), "=r"(to.all[2]), "=r"(to.all[3])
               : "r"(place) : "memory");
}

// Adds the product of 16 x 16 by 16 x 16 numbers: of 8 columns, and of the next 8.
static __device__ inline void multiply_parts_bf16(f32x8 &sums, const u32x4 &left, const u32x4 &right) {
  f32 *s = sums.all;
  const u32 *x = left.all, *y = right.all;
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2]), "r"(y[3]));
}

// The same of f16.
static __device__ inline void multiply_parts_f16(f32x8 &sums, const u32x4 &left, const u32x4 &right) {
  f32 *s = sums.all;
  const u32 *x = left.all, *y = right.all;
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2]), "r"(y[3]));
}

// The same of 16 x 32 by 32 x 16 whole numbers.
static __device__ inline void multiply_parts_s8(s32x8 &sums, const u32x4 &left, const u32x4 &right) {
  s32 *s = sums.all;
  const u32 *x = left.all, *y = right.all;
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(s[4]), "+r"(s[5]), "+r"(s[6]), "+r"(s[7])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2]), "r"(y[3]));
}
