// Arithmetic of complex numbers. $T is c64 or c128, $R the type of the parts, $f the suffix of C's functions.

static inline $C complex_$T($R real, $R imaginary) {
  return __builtin_complex(real, imaginary);
}

// One of two numbers. A choice between whole ones would be a branch, which keeps a loop out of lanes.
static inline $C choose_$T(int condition, $C x, $C y) {
  $R real = condition ? __real__ x : __real__ y;
  $R imaginary = condition ? __imag__ x : __imag__ y;
  return complex_$T(real, imaginary);
}

// The product by its definition: an infinity times a zero part gives NaN, as in XLA.
static inline $C multiply_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  return complex_$T(rounded_$R(a * c) - b * d, rounded_$R(a * d) + b * c);
}

// Smith's method divides the smaller part of y by the larger one, so that no square overflows: where
// |c| < |d|, (a + ib) / (c + id) is (b - ia) / (d - ic). No branches, so that it runs in lanes.
__attribute__((always_inline))
static inline $C divide_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  int swap = __builtin_fabs$f(c) < __builtin_fabs$f(d);
  $R p = swap ? b : a, q = swap ? -a : b, r = swap ? d : c, s = swap ? -c : d;
  $R ratio = s / r, scale = r + ratio * s;
  $R real = (p + ratio * q) / scale, imaginary = (q - ratio * p) / scale;
  $C limit = limit_of_quotient_$T(x, y);
  int unknown = (real != real) & (imaginary != imaginary);
  return complex_$T(unknown ? __real__ limit : real, unknown ? __imag__ limit : imaginary);
}

// What x / y tends to where y is zero or one of the two is infinite (C99, Annex G); else NaN. Of two
// numbers an infinite one counts by its direction; infinity times that of x, or 0 times that of y.
__attribute__((always_inline))
static inline $C limit_of_quotient_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  $R infinity = __builtin_inf$f(), nan = __builtin_nan$f("");
  int x_infinite = (__builtin_fabs$f(a) == infinity) | (__builtin_fabs$f(b) == infinity);
  int y_infinite = (__builtin_fabs$f(c) == infinity) | (__builtin_fabs$f(d) == infinity);
  $R p = x_infinite ? direction_$R(a) : a, q = x_infinite ? direction_$R(b) : b;
  $R r = x_infinite ? c : direction_$R(c), s = x_infinite ? d : direction_$R(d);
  $R factor = x_infinite ? y_infinite ? nan : infinity : y_infinite ? 0 : nan;
  $R real = factor * (rounded_$R(p * r) + q * s);
  $R imaginary = factor * (rounded_$R(q * r) - p * s);
  int by_zero = (c == 0) & (d == 0);
  $R signed_infinity = __builtin_copysign$f(infinity, c);
  real = by_zero ? a * signed_infinity : real;
  imaginary = by_zero ? b * signed_infinity : imaginary;
  return complex_$T(real, imaginary);
}

// An infinite number counts by its direction: each infinite part as 1, each finite part as 0.
static inline $T direction_$T($T x) {
  return __builtin_copysign$f(__builtin_fabs$f(x) == __builtin_inf$f() ? 1.0$f : 0.0$f, x);
}

static inline $R magnitude_$T($C x) {
  return magnitude_$R(__real__ x, __imag__ x);
}

// How far the point (x, y) is from 0. In f64 no square of an f32 overflows, or loses anything. What has
// an infinite part is infinite.
__attribute__((always_inline))
static inline f32 magnitude_f32(f32 x, f32 y) {
  f64 a = x, b = y;
  f64 size = __builtin_sqrt(a * a + b * b), infinity = __builtin_inf();
  size = __builtin_fabs(a) == infinity ? infinity : size;
  return (f32)(__builtin_fabs(b) == infinity ? infinity : size);
}

__attribute__((always_inline))
static inline f64 magnitude_f64(f64 x, f64 y) {
  f64 scale = scale_of_squares(x, y);
  return scaled_magnitude(x, y, scale) * (1 / scale);
}

// A power of two with which no square of two numbers overflows, or is too small to count.
static inline f64 scale_of_squares(f64 a, f64 b) {
  a = __builtin_fabs(a), b = __builtin_fabs(b);
  f64 raising = (a < 0x1p-500) & (b < 0x1p-500) ? 0x1p600 : 1.0;
  return (a > 0x1p500) | (b > 0x1p500) ? 0x1p-600 : raising;
}

// How far a point is from 0, times a scale.
static inline f64 scaled_magnitude(f64 a, f64 b, f64 scale) {
  f64 size = __builtin_sqrt(a * scale * (a * scale) + b * scale * (b * scale));
  f64 infinity = __builtin_inf();
  size = __builtin_fabs(a) == infinity ? infinity : size;
  return __builtin_fabs(b) == infinity ? infinity : size;
}

static inline $C sign_$T($C x) {
  $R size = magnitude_$T(x);
  return x == 0 ? x : complex_$T(__real__ x / size, __imag__ x / size);
}

// The principal square root. Its larger part is sqrt((|x| + |a|) / 2), and the product of both is
// b / 2; where a is negative, the imaginary part is the larger one.
__attribute__((always_inline))
static inline c128 sqrt_c128(c128 x) {
  f64 a = __real__ x, b = __imag__ x, scale = scale_of_squares(a, b);
  f64 size = scaled_magnitude(a, b, scale) + __builtin_fabs(a) * scale;
  f64 larger = __builtin_sqrt(size / 2) * (scale < 1 ? 0x1p300 : scale > 1 ? 0x1p-300 : 1.0);
  f64 height = __builtin_fabs(b), infinity = __builtin_inf();
  f64 smaller = larger == 0 ? 0 : height / (2 * larger);
  larger = height == infinity ? infinity : larger;
  smaller = height == infinity ? infinity : smaller;
  f64 real = a < 0 ? smaller : larger, imaginary = a < 0 ? larger : smaller;
  return complex_c128(real, __builtin_copysign(imaginary, b));
}

static inline c64 sqrt_c64(c64 x) {
  c128 root = sqrt_c128(complex_c128(__real__ x, __imag__ x));
  return complex_c64((f32)__real__ root, (f32)__imag__ root);
}

static inline $C rsqrt_$T($C x) {
  return divide_$T(1, sqrt_$T(x));
}
