// Fourier transforms of many lines at once: each lane of a vector has a line of its own. $T is f32 or
// f64, of which a vector has 512 / $W. Complex numbers in memory are pairs of $T.

// Number k of each line.
struct lanes_$T { $T real[512 / $W], imaginary[512 / $W]; };

// Numbers k of up to 512 / $W lines: pairs that lie `step` pairs apart in a line, whose beginnings lie
// `line` pairs apart. With `inverse`, real and imaginary parts change places: that turns a transform
// into its inverse.
static void take_lines_$T(struct lanes_$T *to, const $T *from, s64 n, s64 count, s64 step,
                              s64 line, s64 inverse) {
  const s64 width = 512 / $W;
  for (s64 k = 0; k < n; k++) {
    const $T *real = from + 2 * k * step + inverse, *other = from + 2 * k * step + 1 - inverse;
    if (line == 1 && count == width) {
      #pragma omp simd
      for (s64 l = 0; l < width; l++) {
        to[k].real[l] = real[2 * l];
        to[k].imaginary[l] = other[2 * l];
      }
      continue;
    }
    for (s64 l = 0; l < width; l++) {
      to[k].real[l] = l < count ? real[2 * l * line] : 0;
      to[k].imaginary[l] = l < count ? other[2 * l * line] : 0;
    }
  }
}

// The way back, where all numbers are multiplied by the same one.
static void give_lines_$T(const struct lanes_$T *from, $T *to, s64 n, s64 count, s64 step,
                              s64 line, s64 inverse, $T scale) {
  const s64 width = 512 / $W;
  for (s64 k = 0; k < n; k++) {
    $T *real = to + 2 * k * step + inverse, *other = to + 2 * k * step + 1 - inverse;
    if (line == 1 && count == width) {
      #pragma omp simd
      for (s64 l = 0; l < width; l++) {
        real[2 * l] = from[k].real[l] * scale;
        other[2 * l] = from[k].imaginary[l] * scale;
      }
      continue;
    }
    for (s64 l = 0; l < count; l++) {
      real[2 * l * line] = from[k].real[l] * scale;
      other[2 * l * line] = from[k].imaginary[l] * scale;
    }
  }
}

// One step of a transform of `before * radix * behind` numbers, of which `before` parts are done: the
// transforms of `radix` numbers that lie `behind` apart, multiplied by roots of unity.
static inline void fourier_twos_$T(const struct lanes_$T *restrict x, struct lanes_$T *restrict y,
                                   const $T *roots, s64 before, s64 behind) {
  for (s64 k = 0; k < before; k++) {
    for (s64 i = 0; i < behind; i++) {
      const struct lanes_$T *a = x + 2 * k * behind + i, *b = a + behind;
      struct lanes_$T *first = y + k * behind + i, *second = first + before * behind;
      $T real = roots[2 * before * i], imaginary = roots[2 * before * i + 1];
      #pragma omp simd
      for (s64 l = 0; l < 512 / $W; l++) {
        $T less_real = a->real[l] - b->real[l], less = a->imaginary[l] - b->imaginary[l];
        first->real[l] = a->real[l] + b->real[l];
        first->imaginary[l] = a->imaginary[l] + b->imaginary[l];
        second->real[l] = less_real * real - less * imaginary;
        second->imaginary[l] = less_real * imaginary + less * real;
      }
    }
  }
}

static inline void fourier_threes_$T(const struct lanes_$T *restrict x, struct lanes_$T *restrict y,
                                     const $T *roots, s64 before, s64 behind) {
  const $T half = ($T)0.86602540378443864676;  // the sine of a third of a turn
  for (s64 k = 0; k < before; k++) {
    for (s64 i = 0; i < behind; i++) {
      const struct lanes_$T *a = x + 3 * k * behind + i, *b = a + behind, *c = b + behind;
      struct lanes_$T *to = y + k * behind + i, *to1 = to + before * behind;
      struct lanes_$T *to2 = to1 + before * behind;
      const $T *w1 = roots + 2 * before * i, *w2 = roots + 4 * before * i;
      $T r1 = w1[0], i1 = w1[1], r2 = w2[0], i2 = w2[1];
      #pragma omp simd
      for (s64 l = 0; l < 512 / $W; l++) {
        $T sum_real = b->real[l] + c->real[l], sum = b->imaginary[l] + c->imaginary[l];
        $T off_real = (b->real[l] - c->real[l]) * half;
        $T off = (b->imaginary[l] - c->imaginary[l]) * half;
        $T near_real = a->real[l] - sum_real * ($T)0.5, near = a->imaginary[l] - sum * ($T)0.5;
        $T p_real = near_real + off, p = near - off_real;
        $T q_real = near_real - off, q = near + off_real;
        to->real[l] = a->real[l] + sum_real;
        to->imaginary[l] = a->imaginary[l] + sum;
        to1->real[l] = p_real * r1 - p * i1;
        to1->imaginary[l] = p_real * i1 + p * r1;
        to2->real[l] = q_real * r2 - q * i2;
        to2->imaginary[l] = q_real * i2 + q * r2;
      }
    }
  }
}

static inline void fourier_fours_$T(const struct lanes_$T *restrict x, struct lanes_$T *restrict y,
                                    const $T *roots, s64 before, s64 behind) {
  for (s64 k = 0; k < before; k++) {
    for (s64 i = 0; i < behind; i++) {
      const struct lanes_$T *a = x + 4 * k * behind + i, *b = a + behind;
      const struct lanes_$T *c = b + behind, *d = c + behind;
      struct lanes_$T *to = y + k * behind + i, *to1 = to + before * behind;
      struct lanes_$T *to2 = to1 + before * behind, *to3 = to2 + before * behind;
      const $T *w1 = roots + 2 * before * i, *w2 = roots + 4 * before * i;
      const $T *w3 = roots + 6 * before * i;
      $T r1 = w1[0], i1 = w1[1], r2 = w2[0], i2 = w2[1], r3 = w3[0], i3 = w3[1];
      #pragma omp simd
      for (s64 l = 0; l < 512 / $W; l++) {
        $T even_real = a->real[l] + c->real[l], even = a->imaginary[l] + c->imaginary[l];
        $T less_real = a->real[l] - c->real[l], less = a->imaginary[l] - c->imaginary[l];
        $T odd_real = b->real[l] + d->real[l], odd = b->imaginary[l] + d->imaginary[l];
        $T off_real = b->real[l] - d->real[l], off = b->imaginary[l] - d->imaginary[l];
        $T p_real = less_real + off, p = less - off_real;
        $T q_real = even_real - odd_real, q = even - odd;
        $T s_real = less_real - off, s = less + off_real;
        to->real[l] = even_real + odd_real;
        to->imaginary[l] = even + odd;
        to1->real[l] = p_real * r1 - p * i1;
        to1->imaginary[l] = p_real * i1 + p * r1;
        to2->real[l] = q_real * r2 - q * i2;
        to2->imaginary[l] = q_real * i2 + q * r2;
        to3->real[l] = s_real * r3 - s * i3;
        to3->imaginary[l] = s_real * i3 + s * r3;
      }
    }
  }
}

// Any odd radix: numbers j and radix - j are multiplied by conjugate roots, so that their sum and their
// difference are each multiplied once.
static inline void fourier_odds_$T(const struct lanes_$T *restrict x, struct lanes_$T *restrict y,
                                   const $T *roots, s64 before, s64 behind, s64 radix) {
  const s64 stride = before * behind;
  for (s64 k = 0; k < before; k++) {
    for (s64 i = 0; i < behind; i++) {
      const struct lanes_$T *from = x + radix * k * behind + i;
      struct lanes_$T *to = y + k * behind + i, all = *from;
      for (s64 j = 1; j < radix; j++) {
        #pragma omp simd
        for (s64 l = 0; l < 512 / $W; l++) {
          all.real[l] += from[j * behind].real[l];
          all.imaginary[l] += from[j * behind].imaginary[l];
        }
      }
      *to = all;
      for (s64 q = 1; 2 * q < radix; q++) {
        struct lanes_$T near = *from, off = {{0}, {0}};
        for (s64 j = 1; 2 * j < radix; j++) {
          const struct lanes_$T *a = from + j * behind, *b = from + (radix - j) * behind;
          const $T *root = roots + 2 * (j * q % radix) * stride;
          $T cosine = root[0], sine = root[1];
          #pragma omp simd
          for (s64 l = 0; l < 512 / $W; l++) {
            near.real[l] += (a->real[l] + b->real[l]) * cosine;
            near.imaginary[l] += (a->imaginary[l] + b->imaginary[l]) * cosine;
            off.real[l] -= (a->imaginary[l] - b->imaginary[l]) * sine;
            off.imaginary[l] += (a->real[l] - b->real[l]) * sine;
          }
        }
        struct lanes_$T *to1 = to + q * stride, *to2 = to + (radix - q) * stride;
        const $T *w1 = roots + 2 * q * before * i, *w2 = roots + 2 * (radix - q) * before * i;
        #pragma omp simd
        for (s64 l = 0; l < 512 / $W; l++) {
          $T p_real = near.real[l] + off.real[l], p = near.imaginary[l] + off.imaginary[l];
          $T s_real = near.real[l] - off.real[l], s = near.imaginary[l] - off.imaginary[l];
          to1->real[l] = p_real * w1[0] - p * w1[1];
          to1->imaginary[l] = p_real * w1[1] + p * w1[0];
          to2->real[l] = s_real * w2[0] - s * w2[1];
          to2->imaginary[l] = s_real * w2[1] + s * w2[0];
        }
      }
    }
  }
}

// The Fourier transforms of lines of n numbers, in steps of radices whose product is n, each a digit
// to the base 16. Steps go to and fro; `roots` are the n-th ones of unity, clockwise.
//
// Stockham's formulation: each step leaves its numbers in order.
static void hlo_fourier_$T(struct lanes_$T *x, struct lanes_$T *y, const $T *roots, s64 n,
                           u64 radices) {
  s64 before = 1, behind = n;
  for (; radices; radices >>= 4) {
    s64 radix = (s64)(radices & 15);
    behind /= radix;
    switch (radix) {
      case 2: fourier_twos_$T(x, y, roots, before, behind); break;
      case 3: fourier_threes_$T(x, y, roots, before, behind); break;
      case 4: fourier_fours_$T(x, y, roots, before, behind); break;
      default: fourier_odds_$T(x, y, roots, before, behind, radix);
    }
    before *= radix;
    struct lanes_$T *other = x;
    x = y;
    y = other;
  }
}

// Turn number k of line l by root k * (first + l): so lines become parts of a longer one.
static void twiddle_lines_$T(struct lanes_$T *x, const $T *roots, s64 n, s64 count, s64 first) {
  for (s64 k = 0; k < n; k++) {
    const $T *root = roots + 2 * k * first;
    #pragma omp simd
    for (s64 l = 0; l < count; l++) {
      $T real = x[k].real[l], cosine = root[2 * k * l], sine = root[2 * k * l + 1];
      x[k].real[l] = real * cosine - x[k].imaginary[l] * sine;
      x[k].imaginary[l] = real * sine + x[k].imaginary[l] * cosine;
    }
  }
}

// Multiply number k of each line by factor k; with `inverse`, real and imaginary parts change places
// before.
static void multiply_lines_$T(struct lanes_$T *x, const $T *factors, s64 n, s64 inverse) {
  for (s64 k = 0; k < n; k++) {
    $T *one = inverse ? x[k].imaginary : x[k].real, *other = inverse ? x[k].real : x[k].imaginary;
    $T cosine = factors[2 * k], sine = factors[2 * k + 1];
    #pragma omp simd
    for (s64 l = 0; l < 512 / $W; l++) {
      $T real = one[l] * cosine - other[l] * sine, imaginary = one[l] * sine + other[l] * cosine;
      x[k].real[l] = real;
      x[k].imaginary[l] = imaginary;
    }
  }
}

// The transform of 2 n real numbers, from that of n complex ones that they are the parts of: the even
// numbers' and the odd ones' are its symmetric and its antisymmetric half.
static void real_parts_apart_$T(const $T *restrict x, $T *restrict y, const $T *restrict roots, s64 n) {
  y[0] = x[0] + x[1];
  y[1] = 0;
  y[2 * n] = x[0] - x[1];
  y[2 * n + 1] = 0;
  #pragma omp simd
  for (s64 k = 1; k < n; k++) {
    $T real = x[2 * k], imaginary = x[2 * k + 1];
    $T mirrored = x[2 * (n - k)], other = -x[2 * (n - k) + 1];
    $T even_real = (real + mirrored) * ($T)0.5, even = (imaginary + other) * ($T)0.5;
    $T odd_real = (imaginary - other) * ($T)0.5, odd = (mirrored - real) * ($T)0.5;
    y[2 * k] = even_real + (odd_real * roots[2 * k] - odd * roots[2 * k + 1]);
    y[2 * k + 1] = even + (odd_real * roots[2 * k + 1] + odd * roots[2 * k]);
  }
}

// The way back, of n + 1 numbers to n; twice as large. What must be real is taken for real.
static void real_parts_together_$T(const $T *restrict x, $T *restrict y, const $T *restrict roots, s64 n) {
  y[0] = x[0] + x[2 * n];
  y[1] = x[0] - x[2 * n];
  #pragma omp simd
  for (s64 k = 1; k < n; k++) {
    $T real = x[2 * k], imaginary = x[2 * k + 1];
    $T mirrored = x[2 * (n - k)], other = -x[2 * (n - k) + 1];
    $T off_real = real - mirrored, off = imaginary - other;
    $T odd_real = off_real * roots[2 * k] + off * roots[2 * k + 1];
    $T odd = off * roots[2 * k] - off_real * roots[2 * k + 1];
    y[2 * k] = real + mirrored - odd;
    y[2 * k + 1] = imaginary + other + odd_real;
  }
}

// Products of numbers of one line with factors; before or after that, real and imaginary parts may
// change places.
static void multiply_numbers_$T(const $T *x, s64 x_step, $T *y, s64 y_step, const $T *factors, s64 n,
                                s64 inverse, s64 inverse_after) {
  for (s64 k = 0; k < n; k++) {
    $T real = x[2 * k * x_step + inverse], imaginary = x[2 * k * x_step + 1 - inverse];
    $T cosine = factors[2 * k], sine = factors[2 * k + 1];
    y[2 * k * y_step + inverse_after] = real * cosine - imaginary * sine;
    y[2 * k * y_step + 1 - inverse_after] = real * sine + imaginary * cosine;
  }
}
