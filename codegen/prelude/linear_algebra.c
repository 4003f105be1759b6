// Matrices, row-major; $T is f32, f64, c64 or c128.

static inline f32 conjugate_f32(f32 x) {
  return x;
}

static inline f64 conjugate_f64(f64 x) {
  return x;
}

static inline c64 conjugate_c64(c64 x) {
  return __builtin_complex(__real__ x, -__imag__ x);
}

static inline c128 conjugate_c128(c128 x) {
  return __builtin_complex(__real__ x, -__imag__ x);
}

static inline f32 product_f32(f32 x, f32 y) {
  return x * y;
}

static inline f64 product_f64(f64 x, f64 y) {
  return x * y;
}

static inline c64 product_c64(c64 x, c64 y) {
  return multiply_c64(x, y);
}

static inline c128 product_c128(c128 x, c128 y) {
  return multiply_c128(x, y);
}

static inline f32 quotient_f32(f32 x, f32 y) {
  return x / y;
}

static inline f64 quotient_f64(f64 x, f64 y) {
  return x / y;
}

static inline c64 quotient_c64(c64 x, c64 y) {
  return divide_c64(x, y);
}

static inline c128 quotient_c128(c128 x, c128 y) {
  return divide_c128(x, y);
}

// A = L L^H, column after column; for the upper factor U = L^H the triangles are exchanged. Only
// one triangle is read; the other is 0. All NaN where the matrix is not positive definite.
static void cholesky_$T(const $T *a, $T *l, s64 n, int lower) {
  s64 row = lower ? n : 1, column = lower ? 1 : n;
  for (s64 i = 0; i < n * n; i++) l[i] = 0;
  for (s64 j = 0; j < n; j++) {
    $R diagonal = __real__ a[j * n + j];
    for (s64 k = 0; k < j; k++) {
      $T x = l[j * row + k * column];
      diagonal -= __real__ product_$T(x, conjugate_$T(x));
    }
    if (!(diagonal > 0)) {
      for (s64 i = 0; i < n * n; i++) l[i] = __builtin_nan$f("");
      return;
    }
    $R root = __builtin_sqrt$f(diagonal);
    l[j * n + j] = root;
    for (s64 i = j + 1; i < n; i++) {
      $T sum = a[i * row + j * column];
      if (!lower) sum = conjugate_$T(sum);
      for (s64 k = 0; k < j; k++) {
        $T x = l[i * row + k * column], y = l[j * row + k * column];
        if (!lower) x = conjugate_$T(x), y = conjugate_$T(y);
        sum -= product_$T(x, conjugate_$T(y));
      }
      sum = sum / root;
      l[i * row + j * column] = lower ? sum : conjugate_$T(sum);
    }
  }
}

// op(A) X = B, row after row; A and X are walked through by strides, so that transposed systems and
// upper triangles (read backwards) are the same lower triangle.
static void substitute_$T(const $T *a, s64 row, s64 column, $T *x, s64 down, s64 across,
                          s64 n, s64 m, int unit_diagonal, int conjugated) {
  for (s64 i = 0; i < n; i++) {
    for (s64 k = 0; k < i; k++) {
      $T factor = a[i * row + k * column];
      if (conjugated) factor = conjugate_$T(factor);
      for (s64 j = 0; j < m; j++) {
        x[i * down + j * across] -= product_$T(factor, x[k * down + j * across]);
      }
    }
    if (unit_diagonal) continue;
    $T diagonal = a[i * row + i * column];
    if (conjugated) diagonal = conjugate_$T(diagonal);
    for (s64 j = 0; j < m; j++) {
      x[i * down + j * across] = quotient_$T(x[i * down + j * across], diagonal);
    }
  }
}

// The complex eigenvectors of a real matrix, as columns, from LAPACK's packing: where an eigenvalue
// has a positive imaginary part, its column and the next hold the parts of a conjugate pair.
static void conjugate_pairs_$T(const $R *packed, const $R *imaginary, $T *vectors, s64 n) {
  for (s64 j = 0; j < n; j++) {
    int paired = imaginary[j] > 0 && j + 1 < n;
    for (s64 i = 0; i < n; i++) {
      $R real = packed[j * n + i], other = paired ? packed[(j + 1) * n + i] : 0;
      vectors[j * n + i] = __builtin_complex(real, other);
      if (paired) vectors[(j + 1) * n + i] = __builtin_complex(real, -other);
    }
    j += paired;
  }
}

// 0, or NaN if any of some numbers is NaN or infinite.
static $T sum_of_zeros_$T(const $T *numbers, s64 n) {
  $T sum = 0;
  for (s64 i = 0; i < n; i++) sum += numbers[i] * 0;
  return sum;
}

static void add_to_each_$T($T *numbers, s64 n, $T term) {
  for (s64 i = 0; i < n; i++) numbers[i] += term;
}

// The order of rows after row i has changed places with row pivots[i], for one i after the other.
static void exchange_rows(const s32 *pivots, s64 count, s32 *order, s64 rows) {
  for (s64 i = 0; i < rows; i++) order[i] = (s32)i;
  for (s64 i = 0; i < count; i++) {
    if (pivots[i] < 0 || pivots[i] >= rows) continue;
    s32 row = order[i];
    order[i] = order[pivots[i]];
    order[pivots[i]] = row;
  }
}
