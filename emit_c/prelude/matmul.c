// Matrix products. $T is the operands' element type, $C the type in which products are summed up.

// c = a b, of m rows, n columns and the given depth. Element (i, k) of a is a[i * a_row + k *
// a_column]; likewise b. c is row-major. `packed` has room for a block of b and a block of a.
//
// Blocks are copied so that the innermost loop reads memory in order: of b, panels of 128 bytes'
// worth of columns; of a, panels of 12 rows. A tile of 12 rows and two vectors of columns is
// computed in registers (24 of the 32 that AVX-512 has).
static void matmul_$T(const $T *a, s64 a_row, s64 a_column, const $T *b, s64 b_row, s64 b_column,
                      $C *c, s64 m, s64 n, s64 depth, $C *packed) {
  enum { WIDTH = 128 / sizeof($C), DEPTH = 256, COLUMNS = 1024, ROWS = 96 };
  $C *packed_b = packed, *packed_a = packed + DEPTH * COLUMNS;
  if (depth == 0) {
    for (s64 i = 0; i < m * n; i++) c[i] = 0;
  }
  for (s64 j0 = 0; j0 < n; j0 += COLUMNS) {
    s64 columns = n - j0 < COLUMNS ? n - j0 : COLUMNS;
    for (s64 k0 = 0; k0 < depth; k0 += DEPTH) {
      s64 steps = depth - k0 < DEPTH ? depth - k0 : DEPTH;
      for (s64 j = 0; j < columns; j += WIDTH) {
        pack_$T(b + (j0 + j) * b_column + k0 * b_row, b_column, b_row,
                packed_b + j * DEPTH, columns - j, WIDTH, steps);
      }
      for (s64 i0 = 0; i0 < m; i0 += ROWS) {
        s64 rows = m - i0 < ROWS ? m - i0 : ROWS;
        for (s64 i = 0; i < rows; i += 12) {
          pack_$T(a + (i0 + i) * a_row + k0 * a_column, a_row, a_column,
                  packed_a + i * DEPTH, rows - i, 12, steps);
        }
        for (s64 j = 0; j < columns; j += WIDTH) {
          for (s64 i = 0; i < rows; i += 12) {
            tile_$C(packed_a + i * DEPTH, packed_b + j * DEPTH, c + (i0 + i) * n + j0 + j, n,
                    rows - i, columns - j, steps, k0 == 0);
          }
        }
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

// c = a b for few rows: b is read once, row after row.
static void few_rows_$T(const $T *a, s64 a_row, s64 a_column, const $T *b, s64 b_row, $C *c, s64 m,
                        s64 n, s64 depth) {
  for (s64 i = 0; i < m * n; i++) c[i] = 0;
  for (s64 k = 0; k < depth; k++) {
    for (s64 i = 0; i < m; i++) {
      const $C factor = $L(a[i * a_row + k * a_column]);
      #pragma omp simd
      for (s64 j = 0; j < n; j++) c[i * n + j] += factor * $L(b[k * b_row + j]);
    }
  }
}
