// Complex numbers. $T is c64 or c128, $R the type of the parts, $f the suffix of C's functions.

static inline $C complex_$T($R real, $R imaginary) {
  return __builtin_complex(real, imaginary);
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
  return __builtin_copysign$f(__builtin_fabs$f(x) == __builtin_inf$f() ? 1 : 0, x);
}

// In f64 no square of an f32 overflows, or loses anything. What has an infinite part is infinite.
static inline f32 magnitude_c64(c64 x) {
  f64 a = __real__ x, b = __imag__ x;
  f64 size = __builtin_sqrt(a * a + b * b), infinity = __builtin_inf();
  size = __builtin_fabs(a) == infinity ? infinity : size;
  return (f32)(__builtin_fabs(b) == infinity ? infinity : size);
}

static inline f64 magnitude_c128(c128 x) {
  f64 a = __real__ x, b = __imag__ x, scale = scale_of_squares(a, b);
  return scaled_magnitude(a, b, scale) * (1 / scale);
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

static inline $C logistic_$T($C x) {
  $C growth = __builtin_cexp$f(complex_$T(-__real__ x, -__imag__ x));
  return divide_$T(1, complex_$T(1 + __real__ growth, __imag__ growth));
}

// exp(a) cos b - 1 is expm1(a) cos b - 2 sin(b / 2)^2, which stays exact for small x.
static inline $C expm1_$T($C x) {
  $R a = __real__ x, b = __imag__ x, half = __builtin_sin$f(b / 2);
  $R imaginary = b == 0 ? b : __builtin_exp$f(a) * __builtin_sin$f(b);
  return complex_$T(__builtin_expm1$f(a) * __builtin_cos$f(b) - 2 * half * half, imaginary);
}

// log |1 + x| is half of log1p(|1 + x|^2 - 1), which stays exact for small x.
static inline $C log1p_$T($C x) {
  $R a = __real__ x, b = __imag__ x;
  $R near = ($R)0.5 * __builtin_log1p$f(a * (a + 2) + b * b);
  $R far = __builtin_log$f(__builtin_hypot$f(1 + a, b));
  int is_near = __builtin_fabs$f(a) + __builtin_fabs$f(b) < ($R)0.5;
  return complex_$T(is_near ? near : far, __builtin_atan2$f(b, 1 + a));
}

// |x|^y exp(i y arg x), with y complex in both factors; powers of 1 and 0th powers are 1.
static inline $C power_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  $R size = magnitude_$T(x), angle = __builtin_atan2$f(b, a);
  if (x == 1 || y == 0) return 1;
  int infinite = a == __builtin_inf$f() && b == 0;
  if (d == 0 && ((x == 0 && c > 0) || (infinite && c != 0))) return __builtin_pow$f(size, c);
  $R power_of_size = __builtin_pow$f(size, c) * __builtin_exp$f(-d * angle);
  $R direction = c * angle + d * __builtin_log$f(size);
  return complex_$T(power_of_size * __builtin_cos$f(direction),
                    power_of_size * __builtin_sin$f(direction));
}

// The angle of the point (y, x), continued: -i log((x + iy) / sqrt(x^2 + y^2)).
static inline $C atan2_$T($C y, $C x) {
  $C squares = multiply_$T(x, x) + multiply_$T(y, y);
  $C sum = complex_$T(__real__ x - __imag__ y, __imag__ x + __real__ y);
  $C logarithm = __builtin_clog$f(divide_$T(sum, sqrt_$T(squares)));
  return complex_$T(__imag__ logarithm, -__real__ logarithm);
}
