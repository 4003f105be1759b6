// Matrices by blocks of 32 x 8 threads, tile by tile of 32 x 32; $T is f32, f64, c64 or c128, $R the
// type of its parts. Tiles in shared memory have rows of 33, so that columns lie in all banks.
// Sums go through the matrix in the order of `cholesky` and `substitute`, and give the same bits.

// An element of the lower triangle, or of the conjugate upper one.
static $T lower_element_$T(const $T *a, s64 number, s64 n, int lower) {
  if (lower) return a[number];
  s64 j = number % n, i = number / n % n;
  return conjugate_$T(a[number + (j - i) * n + i - j]);
}

// Columns 32 panel to 32 panel + 31 of the factor. Each block finds the triangle on the diagonal for
// itself, and 32 rows below it.
static void factor_panel_$T(const $T *work, $T *factor, s64 panel, s64 n, $T *d, $T *t) {
  s64 left = (n + 31) / 32 - panel, matrix = blockIdx.x / left * n * n, tile = blockIdx.x % left;
  int c = threadIdx.x % 32, r = threadIdx.x / 32;
  s64 column = panel * 32 + c;
  for (int i = r; i < 32; i += 8) {
    s64 row = panel * 32 + i, below = row + tile * 32;
    d[i * 33 + c] = row < n && column < n ? work[matrix + row * n + column] : $T(i == c);
    t[i * 33 + c] = tile && below < n ? work[matrix + below * n + column] : $T(0);
  }
  __syncthreads();
  for (int j = 0; j < 32; j++) {
    if (threadIdx.x == 0) {
      $R x = real_part(d[j * 33 + j]);
      d[j * 33 + j] = x > 0 ? __builtin_sqrt$f(x) : __builtin_nan$f("");
    }
    __syncthreads();
    $R root = real_part(d[j * 33 + j]);
    if (r == 0 && c > j) d[c * 33 + j] = d[c * 33 + j] / root;
    if (r == 1) t[c * 33 + j] = t[c * 33 + j] / root;
    __syncthreads();
    for (int i = r; i < 32 && c > j; i += 8) {
      $T y = conjugate_$T(d[c * 33 + j]);
      if (i >= c) d[i * 33 + c] -= product_$T(d[i * 33 + j], y);
      t[i * 33 + c] -= product_$T(t[i * 33 + j], y);
    }
    __syncthreads();
  }
  for (int i = r; i < 32; i += 8) {
    s64 row = panel * 32 + i + tile * 32;
    if (row < n && (tile || i >= c)) factor[matrix + row * n + column] = (tile ? t : d)[i * 33 + c];
  }
}

// The update of the columns after a panel; each block has a tile of them.
static void update_trailing_$T($T *work, const $T *factor, s64 panel, s64 n, $T *x, $T *y) {
  s64 first = (panel + 1) * 32, left = (n - first + 31) / 32, tile = blockIdx.x % (left * left);
  s64 matrix = blockIdx.x / (left * left) * n * n;
  s64 down = first + tile / left * 32, across = first + tile % left * 32;
  if (across > down) return;
  int c = threadIdx.x % 32, r = threadIdx.x / 32;
  for (int i = r; i < 32; i += 8) {
    s64 k = matrix + panel * 32 + c;
    x[i * 33 + c] = down + i < n ? factor[k + (down + i) * n] : $T(0);
    y[i * 33 + c] = across + i < n ? factor[k + (across + i) * n] : $T(0);
  }
  __syncthreads();
  for (int i = r; i < 32; i += 8) {
    if (down + i >= n || across + c > down + i) continue;
    $T sum = work[matrix + (down + i) * n + across + c];
    for (int k = 0; k < 32; k++) sum -= product_$T(x[i * 33 + k], conjugate_$T(y[c * 33 + k]));
    work[matrix + (down + i) * n + across + c] = sum;
  }
}

// The factor, or its conjugate transpose, with zeros beside it; all NaN where it could not be found.
static void finish_factor_$T(const $T *factor, $T *l, s64 n, int lower) {
  s64 left = (n + 31) / 32, tile = blockIdx.x % (left * left);
  s64 matrix = blockIdx.x / (left * left) * n * n;
  s64 down = tile / left * 32, column = tile % left * 32 + threadIdx.x % 32;
  int bad = 0;
  for (s64 i = threadIdx.x; i < n; i += 256) {
    $R x = real_part(factor[matrix + i * n + i]);
    bad |= x != x;
  }
  bad = __syncthreads_or(bad);
  for (s64 row = down + threadIdx.x / 32; row < n && row < down + 32; row += 8) {
    if (column >= n) continue;
    $T value = 0;
    if (lower && column <= row) value = factor[matrix + row * n + column];
    if (!lower && row <= column) value = conjugate_$T(factor[matrix + column * n + row]);
    l[matrix + row * n + column] = bad ? $T(__builtin_nan$f("")) : value;
  }
}

// op(A) X = B for 32 columns of X, 32 rows at a time; how A and X are walked through: see
// `substitute`. first_a and first_x are where the first row of a system begins.
static void solve_columns_$T(const $T *a, s64 first_a, s64 row, s64 column, const $T *b, $T *x,
                             s64 first_x, s64 down, s64 across, s64 n, s64 m, int unit_diagonal,
                             int conjugated, $T *t, $T *y) {
  s64 left = (m + 31) / 32, system = blockIdx.x / left;
  int c = threadIdx.x % 32, r = threadIdx.x / 32;
  s64 j = blockIdx.x % left * 32 + c;
  s64 of_a = first_a + system * n * n, of_x = first_x + system * n * m + j * across;
  for (s64 p = 0; p < n; p += 32) {
    $T sums[4];
    for (int e = 0; e < 4; e++) {
      s64 i = p + r + e * 8;
      sums[e] = i < n && j < m ? b[of_x + i * down] : $T(0);
    }
    for (s64 q = 0; q <= p; q += 32) {
      for (int e = 0; e < 4; e++) {
        int i = r + e * 8;
        $T factor = 0;
        if (p + i < n && q + c < n) factor = a[of_a + (p + i) * row + (q + c) * column];
        t[i * 33 + c] = conjugated ? conjugate_$T(factor) : factor;
        y[i * 33 + c] = q == p ? sums[e] : j < m ? x[of_x + (q + i) * down] : $T(0);
      }
      __syncthreads();
      if (q == p) break;
      for (int k = 0; k < 32; k++) {
        for (int e = 0; e < 4; e++) sums[e] -= product_$T(t[(r + e * 8) * 33 + k], y[k * 33 + c]);
      }
      __syncthreads();
    }
    for (int i = 0; i < 32; i++) {
      if (r == 0 && !unit_diagonal) y[i * 33 + c] = quotient_$T(y[i * 33 + c], t[i * 33 + i]);
      __syncthreads();
      for (int k = i + 1 + r; k < 32; k += 8) {
        y[k * 33 + c] -= product_$T(t[k * 33 + i], y[i * 33 + c]);
      }
      __syncthreads();
    }
    for (int i = r; i < 32; i += 8) {
      if (p + i < n && j < m) x[of_x + (p + i) * down] = y[i * 33 + c];
    }
    __syncthreads();
  }
}
