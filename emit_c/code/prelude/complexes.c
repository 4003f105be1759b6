// Complex numbers. $T is c64 or c128, $R the type of the parts, $f the suffix of C's functions.

static inline $C complex_$T($R real, $R imaginary) {
  return __builtin_complex(real, imaginary);
}

// The product by its definition: an infinity times a zero part gives NaN, as in XLA.
static inline $C multiply_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  return complex_$T(a * c - b * d, a * d + b * c);
}

// Smith's method divides the smaller part of y by the larger one, so that no square overflows.
static inline $C divide_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  $R real, imaginary;
  if (__builtin_fabs$f(c) < __builtin_fabs$f(d)) {
    $R ratio = -c / d, scale = d - ratio * c;
    real = (b - ratio * a) / scale;
    imaginary = (-a - ratio * b) / scale;
  } else {
    $R ratio = d / c, scale = c + ratio * d;
    real = (a + ratio * b) / scale;
    imaginary = (b - ratio * a) / scale;
  }
  if (real != real && imaginary != imaginary) return limit_of_quotient_$T(x, y);
  return complex_$T(real, imaginary);
}

// What x / y tends to where y is zero or one of the two is infinite (C99, Annex G); else NaN.
static inline $C limit_of_quotient_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  $R infinity = __builtin_inf$f();
  if (c == 0 && d == 0 && (a == a || b == b)) {
    $R signed_infinity = __builtin_copysign$f(infinity, c);
    return complex_$T(a * signed_infinity, b * signed_infinity);
  }
  int x_infinite = __builtin_isinf(a) || __builtin_isinf(b);
  int y_infinite = __builtin_isinf(c) || __builtin_isinf(d);
  if (x_infinite && c - c == 0 && d - d == 0) {
    $R p = direction_$R(a), q = direction_$R(b);
    return complex_$T(infinity * (p * c + q * d), infinity * (q * c - p * d));
  }
  if (y_infinite && a - a == 0 && b - b == 0) {
    $R p = direction_$R(c), q = direction_$R(d);
    return complex_$T(0 * (a * p + b * q), 0 * (b * p - a * q));
  }
  return complex_$T(__builtin_nan$f(""), __builtin_nan$f(""));
}

// An infinite number counts by its direction: each infinite part as 1, each finite part as 0.
static inline f32 direction_f32(f32 x) {
  return __builtin_copysignf(__builtin_isinf(x) ? 1 : 0, x);
}

static inline f64 direction_f64(f64 x) {
  return __builtin_copysign(__builtin_isinf(x) ? 1 : 0, x);
}

// In f64 no square of an f32 overflows, or loses anything. What has an infinite part is infinite.
static inline f32 magnitude_c64(c64 x) {
  f64 a = __real__ x, b = __imag__ x;
  f64 size = __builtin_sqrt(a * a + b * b), infinity = __builtin_inf();
  size = __builtin_fabs(a) == infinity ? infinity : size;
  return (f32)(__builtin_fabs(b) == infinity ? infinity : size);
}

static inline f64 magnitude_c128(c128 x) {
  return __builtin_hypot(__real__ x, __imag__ x);
}

static inline $C sign_$T($C x) {
  $R size = magnitude_$T(x);
  return x == 0 ? x : complex_$T(__real__ x / size, __imag__ x / size);
}

static inline $C rsqrt_$T($C x) {
  return divide_$T(1, __builtin_csqrt$f(x));
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
  $C logarithm = __builtin_clog$f(divide_$T(sum, __builtin_csqrt$f(squares)));
  return complex_$T(__imag__ logarithm, -__real__ logarithm);
}
