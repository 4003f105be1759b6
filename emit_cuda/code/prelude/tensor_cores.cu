// Begins to copy 16 bytes to shared memory, past the registers; of no bytes, zeros.
static __device__ inline void copy_16_bytes(void *to, const void *from, s32 bytes) {
  u32 address = (u32)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(address), "l"(from), "r"(bytes) : "memory");
}

// Puts the copies that a thread has begun together; it waits for all of them at once.
static __device__ inline void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for the copies that a thread has begun, but for the last ones that were put together.
//: 0, 1, 2
static __device__ inline void wait_but_for_$1_copies() {
  asm volatile("cp.async.wait_group $1;" ::: "memory");
}

// Loads four matrices of 8 rows of 16 bytes, spread over a warp: of each row a lane has 4 bytes.
// Lanes 0 to 7 say where the rows of the first one are, the next eight those of the second one.
// Transposed, rows of numbers of 2 bytes become columns.
//: load_fragments .x4, load_fragments_transposed .x4.trans
static __device__ inline void $1(u32x4 &to, const void *row) {
  u32 address = (u32)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8$2.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.all[0]), "=r"(to.all[1]), "=r"(to.all[2]), "=r"(to.all[3])
               : "r"(address) : "memory");
}

// Adds the product of 16 x 16 by 16 x 16 floats, or of 16 x 32 by 32 x 16 whole numbers: of 8 columns,
// and of the next 8.
//: bf16 f32 16 f, f16 f32 16 f, s8 s32 32 r
static __device__ inline void multiply_fragments_$1($2x8 &sums, const u32x4 &left, const u32x4 &right) {
  const u32 *x = left.all, *y = right.all;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    $2 *s = sums.all + half * 4;
    asm("mma.sync.aligned.m16n8k$3.row.col.$2.$1.$1.$2 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+$4"(s[0]), "+$4"(s[1]), "+$4"(s[2]), "+$4"(s[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[half * 2]), "r"(y[half * 2 + 1]));
  }
}

// Ten operands of an `asm`, by the digits that their numbers begin with.
#define TEN_OPERANDS(tens) "%" #tens "0, %" #tens "1, %" #tens "2, %" #tens "3, %" #tens "4, " \
  "%" #tens "5, %" #tens "6, %" #tens "7, %" #tens "8, %" #tens "9, "

// 64 sums of a thread, as operands of an `asm`.
#define SUMS_AS_OPERANDS(kind, s) EIGHT_SUMS(kind, (s)[0]), EIGHT_SUMS(kind, (s)[1]), \
  EIGHT_SUMS(kind, (s)[2]), EIGHT_SUMS(kind, (s)[3]), EIGHT_SUMS(kind, (s)[4]), \
  EIGHT_SUMS(kind, (s)[5]), EIGHT_SUMS(kind, (s)[6]), EIGHT_SUMS(kind, (s)[7])
#define EIGHT_SUMS(kind, s) kind(s.all[0]), kind(s.all[1]), kind(s.all[2]), kind(s.all[3]), \
  kind(s.all[4]), kind(s.all[5]), kind(s.all[6]), kind(s.all[7])

// Adds the product of 64 x 16 by 16 x 128 floats, or of 64 x 32 by 32 x 128 whole numbers, which four
// warps of an H100 multiply together. The instruction reads both from shared memory, of which it is
// given descriptors. A tile is transposed if each of its rows in shared memory has one index of the
// contraction, which those of whole numbers can't be.
//: bf16 f32 16 f ,1,1,%66,%67;, f16 f32 16 f ,1,1,%66,%67;, s8 s32 32 r ;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <int LEFT_TRANSPOSED, int RIGHT_TRANSPOSED>
static __device__ inline void multiply_by_128_$1($2x8 *s, u64 left, u64 right) {
  asm volatile(
      "{ .reg .pred added; setp.ne.b32 added, 1, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k$3.$2.$1.$1 {" TEN_OPERANDS() TEN_OPERANDS(1)
      TEN_OPERANDS(2) TEN_OPERANDS(3) TEN_OPERANDS(4) TEN_OPERANDS(5) "%60, %61, %62, %63}, "
      "%64, %65, added$5 }"
      : SUMS_AS_OPERANDS("+$4", s)
      : "l"(left), "l"(right), "n"(LEFT_TRANSPOSED), "n"(RIGHT_TRANSPOSED));
}
#endif

// The same by 256 columns.
//: bf16 f32 16 f ,1,1,%130,%131;, f16 f32 16 f ,1,1,%130,%131;, s8 s32 32 r ;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <int LEFT_TRANSPOSED, int RIGHT_TRANSPOSED>
static __device__ inline void multiply_by_256_$1($2x8 *s, u64 left, u64 right) {
  asm volatile(
      "{ .reg .pred added; setp.ne.b32 added, 1, 0; "
      "wgmma.mma_async.sync.aligned.m64n256k$3.$2.$1.$1 {" TEN_OPERANDS() TEN_OPERANDS(1)
      TEN_OPERANDS(2) TEN_OPERANDS(3) TEN_OPERANDS(4) TEN_OPERANDS(5) TEN_OPERANDS(6) TEN_OPERANDS(7)
      TEN_OPERANDS(8) TEN_OPERANDS(9) TEN_OPERANDS(10) TEN_OPERANDS(11)
      "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, added$5 }"
      : SUMS_AS_OPERANDS("+$4", s), SUMS_AS_OPERANDS("+$4", s + 8)
      : "l"(left), "l"(right), "n"(LEFT_TRANSPOSED), "n"(RIGHT_TRANSPOSED));
}
#endif

// The matrix descriptor of a tile whose rows have 128 bytes, in chunks as by `chunk_in_tile`:
// the address, the bytes to the next 64 columns and to the next 8 rows, all divided by 16.
static __device__ inline u64 descriptor(const void *tile) {
  u64 address = __cvta_generic_to_shared(tile);
  return (address & 0x3ffff) >> 4 | 512ull << 16 | 64ull << 32 | 1ull << 62;
}

// The chunk of 16 bytes of a tile that has the number `k` along the contraction of a row or column.
// The tile has 64 numbers along the contraction. Eight chunks are a row of 128 bytes; they are swizzled:
// their numbers are xor'ed with the row's, so that chunks below each other are in different banks.
static __device__ inline s32 chunk_in_tile(s32 free, s32 k, s32 transposed) {
  s32 row = transposed ? free / 64 * 64 + k : free, chunk = transposed ? free / 8 % 8 : k / 8;
  return row * 8 + (chunk ^ row % 8);
}

// The first row of a fragment of 16 x 16 of a warp's sums, of which each of four warps has 16: of 64 rows
// of the tile on an H100, else of 64 x 64 sums.
static __device__ inline s32 row_of_fragment(s32 fragment, s32 columns) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  return fragment / (columns / 16) * 64 + threadIdx.x / 32 * 16;
#else
  return threadIdx.x / (columns / 2) * 64 + fragment / 4 * 16;
#endif
}

// Its first column.
static __device__ inline s32 column_of_fragment(s32 fragment, s32 columns) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  return fragment % (columns / 16) * 16;
#else
  return threadIdx.x / 32 % (columns / 64) * 64 + fragment % 4 * 16;
#endif
}

// Lets the instructions by which warps multiply together see what was copied to shared memory.
static __device__ inline void show_copies() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Waits for the products of tiles that four warps have begun together, but for the last ones.
//: 0, 1
static __device__ inline void wait_but_for_$1_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.wait_group.sync.aligned $1;" ::: "memory");
#endif
}

// Begins to add the product of tiles of 128 x 64 by 64 x 128 or 256 floats, or of 128 x 128 by 128 x 256
// whole numbers, of which four or eight warps have the sums: on an H100 four together, else each
// multiplies 64 x 64 in parts of 16 x 16. Of whole numbers `k` counts pairs.
//: bf16 f32, f16 f32, s8 s32
static __device__ inline void multiply_tiles_$1($2x8 *sums, const void *left, const void *right,
                                                s32 left_transposed, s32 right_transposed, s32 columns) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  u64 x = descriptor(left) + threadIdx.x / 128 * 512, y = descriptor(right);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (s32 step = 0; step < 4; step++) {
#pragma unroll
    for (s32 p = 0; p < 256 / columns; p++) {
      u64 a = x + (p * 512 + step * (left_transposed ? 128 : 2));
      u64 b = y + step * (right_transposed ? 128 : 2);
#define MULTIPLY(x_transposed, y_transposed) \
  if (left_transposed == x_transposed && right_transposed == y_transposed && columns == 256) \
    multiply_by_256_$1<x_transposed, y_transposed>(sums, a, b); \
  else if (left_transposed == x_transposed && right_transposed == y_transposed) \
    multiply_by_128_$1<x_transposed, y_transposed>(sums + p * 8, a, b)
      MULTIPLY(0, 0);
      MULTIPLY(0, 1);
      MULTIPLY(1, 0);
      MULTIPLY(1, 1);
#undef MULTIPLY
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
  s32 lane = threadIdx.x % 32, sixteen = lane % 16, eight = lane / 16 * 8;
  s32 other = lane % 8 + lane / 16 * 8, half = lane / 8 % 2 * 8;
  s32 row = row_of_fragment(0, columns) + (left_transposed ? half : sixteen);
  s32 column = column_of_fragment(0, columns) + (right_transposed ? eight : other);
  s32 row_k = left_transposed ? other : eight, column_k = right_transposed ? sixteen : half;
  const u32x4 *x = (const u32x4 *)left, *y = (const u32x4 *)right;
#pragma unroll
  for (s32 k = 0; k < 64; k += 16) {
    u32x4 a[4], b[4];
#pragma unroll
    for (s32 p = 0; p < 4; p++) {
      const u32x4 *from_x = x + chunk_in_tile(row + p * 16, row_k + k, left_transposed);
      const u32x4 *from_y = y + chunk_in_tile(column + p * 16, column_k + k, right_transposed);
      if (left_transposed)
        load_fragments_transposed(a[p], from_x);
      else
        load_fragments(a[p], from_x);
      if (right_transposed)
        load_fragments_transposed(b[p], from_y);
      else
        load_fragments(b[p], from_y);
    }
#pragma unroll
    for (s32 f = 0; f < 16; f++) multiply_fragments_$1(sums[f], a[f / 4], b[f % 4]);
  }
#endif
}

// Swaps one of two numbers with that of a lane whose number differs by one bit: who has the bit
// gives the first.
static __device__ inline void swap_$T($T &first, $T &second, s32 bit) {
  bool has = threadIdx.x & bit;
  $T got = __shfl_xor_sync(0xffffffff, has ? first : second, bit);
  if (has)
    first = got;
  else
    second = got;
}

// Exchanges the sums of two fragments of 16 x 16 among four lanes, of which each had two columns of every
// eight: after it, each has eight columns that are neighbours.
static __device__ inline void gather_columns_$T($Tx8 *sums, s32 count) {
#pragma unroll
  for (s32 fragment = 0; fragment < count; fragment += 2) {
#pragma unroll
    for (s32 n = 0; n < 4; n++) {
      $T &a = sums[fragment].all[n], &b = sums[fragment].all[n + 4];
      $T &c = sums[fragment + 1].all[n], &d = sums[fragment + 1].all[n + 4];
      swap_$T(a, b, 1);
      swap_$T(c, d, 1);
      swap_$T(a, c, 2);
      swap_$T(b, d, 2);
    }
  }
}
