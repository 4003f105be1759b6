// Matrix products. $T is the operands' element type, $C the type in which products are summed up.

// The largest blocks of operands that are copied at a time.
static const s64 MATMUL_DEPTH = 256;

static const s64 MATMUL_COLUMNS = 1024;

static const s64 MATMUL_ROWS = 768;

// Rows and panels of columns whose tiles are computed by one thread.
static const s64 MATMUL_ROWS_EACH = 96;

static const s64 MATMUL_PANELS_EACH = 4;

// A block of a product: its place in the operands and in the result.
struct matmul_block_$T {
  const $T *a, *b;
  s64 a_row, a_column, b_row, b_column;
  $C *c;
  s64 n, rows, columns, steps;
  int first;
  $C *packed_a, *packed_b;
};

// c = a b, of m rows, n columns and the given depth. Element (i, k) of a is a[i * a_row + k *
// a_column]; likewise b. c is row-major. `packed` has room for a block of b and a block of a.
//
// Blocks are copied so that the innermost loop reads memory in order: of b, panels of 128 bytes'
// worth of columns; of a, panels of 12 rows. A tile of 12 rows and two
// vectors of columns is computed in registers (24 of the 32 that AVX-512 has).
static void matmul_$T(const $T *a, s64 a_row, s64 a_column, const $T *b, s64 b_row, s64 b_column,
                      $C *c, s64 m, s64 n, s64 depth, $C *packed) {
  enum { WIDTH = 128 / sizeof($C) };
  if (depth == 0) {
    for (s64 i = 0; i < m * n; i++) c[i] = 0;
  }
  for (s64 j = 0; j < n; j += MATMUL_COLUMNS) {
    s64 columns = n - j < MATMUL_COLUMNS ? n - j : MATMUL_COLUMNS;
    for (s64 k = 0; k < depth; k += MATMUL_DEPTH) {
      s64 steps = depth - k < MATMUL_DEPTH ? depth - k : MATMUL_DEPTH;
      for (s64 i = 0; i < m; i += MATMUL_ROWS) {
        s64 rows = m - i < MATMUL_ROWS ? m - i : MATMUL_ROWS;
        struct matmul_block_$T block = {
          a + i * a_row + k * a_column, b + j * b_column + k * b_row, a_row, a_column, b_row,
          b_column, c + i * n + j, n, rows, columns, steps, k == 0,
          packed + MATMUL_DEPTH * MATMUL_COLUMNS, packed,
        };
        // A panel of 12 * 256 numbers takes about a microsecond to pack, a tile as long as that.
        s64 panels = (columns + WIDTH - 1) / WIDTH;
        s64 blocks = (rows + MATMUL_ROWS_EACH - 1) / MATMUL_ROWS_EACH;
        if (i == 0) hlo_parallel(matmul_pack_b_$T, &block, panels, 8);
        hlo_parallel(matmul_pack_a_$T, &block, (rows + 11) / 12, 16);
        s64 parts = blocks * ((panels + MATMUL_PANELS_EACH - 1) / MATMUL_PANELS_EACH);
        hlo_parallel(matmul_tiles_$T, &block, parts, 1);
      }
    }
  }
}

// Panels of b, copied.
static void matmul_pack_b_$T(void *arguments, s64 begin, s64 end, s64 slot) {
  enum { WIDTH = 128 / sizeof($C) };
  const struct matmul_block_$T *block = arguments;
  (void)slot;
  for (s64 j = begin * WIDTH; j < end * WIDTH; j += WIDTH) {
    pack_$T(block->b + j * block->b_column, block->b_column, block->b_row,
            block->packed_b + j * MATMUL_DEPTH, block->columns - j, WIDTH, block->steps);
  }
}

// Panels of a, copied.
static void matmul_pack_a_$T(void *arguments, s64 begin, s64 end, s64 slot) {
  const struct matmul_block_$T *block = arguments;
  (void)slot;
  for (s64 i = begin * 12; i < end * 12; i += 12) {
    pack_$T(block->a + i * block->a_row, block->a_row, block->a_column,
            block->packed_a + i * MATMUL_DEPTH, block->rows - i, 12, block->steps);
  }
}

// The tiles of some blocks of rows and groups of panels.
static void matmul_tiles_$T(void *arguments, s64 begin, s64 end, s64 slot) {
  const s64 WIDTH = 128 / sizeof($C), COLUMNS_EACH = WIDTH * MATMUL_PANELS_EACH;
  const struct matmul_block_$T *block = arguments;
  s64 groups = (block->columns + COLUMNS_EACH - 1) / COLUMNS_EACH;
  (void)slot;
  for (s64 part = begin; part < end; part++) {
    s64 i0 = part / groups * MATMUL_ROWS_EACH, j0 = part % groups * COLUMNS_EACH;
    for (s64 j = j0; j < j0 + COLUMNS_EACH && j < block->columns; j += WIDTH) {
      for (s64 i = i0; i < i0 + MATMUL_ROWS_EACH && i < block->rows; i += 12) {
        tile_$C(block->packed_a + i * MATMUL_DEPTH, block->packed_b + j * MATMUL_DEPTH,
                block->c + i * block->n + j, block->n, block->rows - i, block->columns - j,
                block->steps, block->first);
      }
    }
  }
}

// A panel: for each step `width` neighbours, with zeros behind the last.
static inline void pack_$T(const $T *from, s64 across, s64 along, $C *to, s64 rest, s64 width,
                           s64 steps) {
  s64 count = rest < width ? rest : width;
  if (across == 1 || count < width) {
    for (s64 k = 0; k < steps; k++) {
      #pragma omp simd
      for (s64 i = 0; i < count; i++) to[k * width + i] = $L(from[k * along + i * across]);
      for (s64 i = count; i < width; i++) to[k * width + i] = 0;
    }
    return;
  }
  for (s64 i = 0; i < width; i++) {
    for (s64 k = 0; k < steps; k++) to[k * width + i] = $L(from[k * along + i * across]);
  }
}

// 12 rows and two vectors of columns of a product, in registers. Multiplications and additions may
// be fused here: the order in which a dot product is summed up is open anyway.
__attribute__((optimize("O3", "fp-contract=fast")))
static void tile_$T(const $T *restrict a, const $T *restrict b, $T *restrict c, s64 stride,
                    s64 rows, s64 columns, s64 steps, int first) {
  #pragma clang fp contract(fast)
  enum { LANES = 64 / sizeof($T), WIDTH = 2 * LANES };
  typedef $T lanes __attribute__((vector_size(64), aligned(sizeof($T))));
  lanes sums[12][2];
  for (int i = 0; i < 12; i++) sums[i][0] = sums[i][1] = (lanes){0};
  for (s64 k = 0; k < steps; k++) {
    lanes left = *(const lanes *)(b + k * WIDTH), right = *(const lanes *)(b + k * WIDTH + LANES);
    #pragma GCC unroll 12
    for (int i = 0; i < 12; i++) {
      sums[i][0] += a[k * 12 + i] * left;
      sums[i][1] += a[k * 12 + i] * right;
    }
  }
  if (rows >= 12 && columns >= WIDTH) {
    for (int i = 0; i < 12; i++) {
      for (int h = 0; h < 2; h++) {
        lanes *place = (lanes *)(c + i * stride + h * LANES);
        *place = first ? sums[i][h] : *place + sums[i][h];
      }
    }
    return;
  }
  for (s64 i = 0; i < 12 && i < rows; i++) {
    const $T *row = (const $T *)sums[i];
    for (s64 j = 0; j < WIDTH && j < columns; j++) {
      c[i * stride + j] = first ? row[j] : c[i * stride + j] + row[j];
    }
  }
}

// A product of few rows: what its columns need.
struct few_rows_product_$T {
  const $T *a, *b;
  s64 a_row, a_column, b_row;
  $C *c;
  s64 m, n, depth;
};

// c = a b for few rows: b is read once, row after row.
static void few_rows_$T(const $T *a, s64 a_row, s64 a_column, const $T *b, s64 b_row, $C *c, s64 m,
                        s64 n, s64 depth) {
  struct few_rows_product_$T product = {a, b, a_row, a_column, b_row, c, m, n, depth};
  s64 grain = (1 << 16) / (m * depth);
  hlo_parallel(few_rows_part_$T, &product, n, grain < 256 ? 256 : grain);
}

// Some columns of it.
static void few_rows_part_$T(void *arguments, s64 begin, s64 end, s64 slot) {
  const struct few_rows_product_$T *p = arguments;
  (void)slot;
  for (s64 i = 0; i < p->m; i++) {
    for (s64 j = begin; j < end; j++) p->c[i * p->n + j] = 0;
  }
  for (s64 k = 0; k < p->depth; k++) {
    const $T *row = p->b + k * p->b_row;
    for (s64 i = 0; i < p->m; i++) {
      const $C factor = $L(p->a[i * p->a_row + k * p->a_column]);
      $C *sums = p->c + i * p->n;
      #pragma omp simd
      for (s64 j = begin; j < end; j++) sums[j] += factor * $L(row[j]);
    }
  }
}
