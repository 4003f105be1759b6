// Exponentials, logarithms and angles of complex numbers, by functions of their parts. At infinities
// and NaN they are what C99 says (Annex G): a part may be known though the other is not.
//
// All are branch-free, so that loops of them run in lanes. Those of c64 are computed in f64, where
// nothing overflows on the way; those of c128 take what might overflow in two steps.

// The product; 0 where either number is, even beside NaN.
static inline f64 product_or_zero(f64 x, f64 y) {
  f64 product = x * y, limit = x == 0 ? x : y;
  return (product != product) & (limit == 0) ? limit : product;
}

// Whether a number is infinite without a direction, since the angle is none.
static inline s32 undirected_$T($T x, $T angle) {
  return (__builtin_fabs$f(x) == __builtin_inf$f()) & (angle - angle != 0);
}

// e^a (cos b + i sin b).
__attribute__((always_inline))
static inline c64 exp_c64(c64 x) {
  f32 a = __real__ x, b = __imag__ x;
  f64 size = exp_f64(a), cosine = cosine_f32(b), sine = sine_f32(b);
  s32 undirected = undirected_f32(a, b);
  f64 real = undirected ? size : size * cosine;
  f64 imaginary = undirected & (a < 0) ? __builtin_copysignf(0.0f, b) : size * sine;
  return complex_c64((f32)real, b == 0 ? b : (f32)imaginary);
}

__attribute__((always_inline))
static inline c128 exp_c128(c128 x) {
  f64 a = __real__ x, b = __imag__ x, cosine = cosine_f64(b), sine = sine_f64(b);
  f64 size = exp_f64(700.0 < a ? 700.0 : a), factor = exp_f64(700.0 < a ? a - 700.0 : 0.0);
  s32 undirected = undirected_f64(a, b);
  f64 real = undirected ? size * factor : size * cosine * factor;
  f64 imaginary = undirected & (a < 0) ? __builtin_copysign(0.0, b) : size * sine * factor;
  return complex_c128(real, b == 0 ? b : imaginary);
}

// exp(a) cos b - 1 is expm1(a) cos b - 2 sin(b / 2)^2, which stays exact for small x.
__attribute__((always_inline))
static inline $C expm1_$T($C x) {
  $R a = __real__ x, b = __imag__ x, half = sine_$R(b / 2);
  $R real = expm1_$R(a) * cosine_$R(b) - 2 * half * half, imaginary = exp_$R(a) * sine_$R(b);
  return complex_$T(real, b == 0 ? b : imaginary);
}

__attribute__((always_inline))
static inline $C logistic_$T($C x) {
  $C growth = exp_$T(complex_$T(-__real__ x, -__imag__ x));
  return divide_$T(1, complex_$T(1 + __real__ growth, __imag__ growth));
}

// log |x| is half of log(a^2 + b^2). Near 1 the squares less 1 are (a - 1) (a + 1) + b^2, in which
// nothing is rounded but the sum.
__attribute__((always_inline))
static inline c64 log_c64(c64 x) {
  f64 a = __builtin_fabsf(__real__ x), b = __builtin_fabsf(__imag__ x);
  f64 larger = a > b ? a : b, smaller = a > b ? b : a;
  f64 squares = larger * larger + smaller * smaller;
  f64 beyond = (larger - 1.0) * (larger + 1.0) + smaller * smaller, sum = 1.0 + beyond;
  s32 near = (squares > 0.5) & (squares < 2.0);
  f64 size = 0.5 * log_of_sum_f64(near ? sum : squares, near ? beyond - (sum - 1.0) : 0.0);
  size = squares == 0 ? -__builtin_inf() : size;
  size = squares - squares == 0 ? size : squares;
  size = (a == __builtin_inf()) | (b == __builtin_inf()) ? __builtin_inf() : size;
  return complex_c64((f32)size, atan2_f32(__imag__ x, __real__ x));
}

// The squares may have to be scaled. Near 1 they are taken exactly.
__attribute__((always_inline))
static inline c128 log_c128(c128 x) {
  f64 a = __real__ x, b = __imag__ x, scale = scale_of_squares(a, b);
  f64 up = __builtin_fabs(b) * scale, along = __builtin_fabs(a) * scale;
  f64 larger = up > along ? up : along, smaller = up > along ? along : up, lost = 0;
  f64 first = square_f64(larger, &lost), second = square_f64(smaller, &lost);
  f64 squares = first + second, beyond = sum_f64(first - 1.0, second, &lost) + lost;
  f64 sum = 1.0 + beyond;
  s32 near = (squares > 0.5) & (squares < 2.0);
  f64 size = 0.5 * log_of_sum_f64(near ? sum : squares, near ? beyond - (sum - 1.0) : 0.0);
  size += scale < 1.0 ? 0x1.9fe3682cd3be4p8 : scale > 1.0 ? -0x1.9fe3682cd3be4p8 : 0.0;
  size = squares == 0 ? -__builtin_inf() : size;
  size = squares - squares == 0 ? size : squares;
  size = larger == __builtin_inf() ? larger : size;
  size = smaller == __builtin_inf() ? smaller : size;
  return complex_c128(size, atan2_f64(b, a));
}

// The square, rounded; what that loses is added to `lost` (T. Dekker).
static inline f64 square_f64(f64 x, f64 *lost) {
  f64 upper = from_bits_f64(bits_f64(x) & 0xfffffffff8000000), lower = x - upper, square = x * x;
  *lost += (upper * upper - square) + 2.0 * upper * lower + lower * lower;
  return square;
}

// The sum of two numbers, rounded; what that loses is added to `lost` (D. Knuth).
static inline f64 sum_f64(f64 x, f64 y, f64 *lost) {
  f64 sum = x + y, part = sum - x;
  *lost += (x - (sum - part)) + (y - part);
  return sum;
}

// log |1 + x| is half of log1p(|1 + x|^2 - 1), which stays exact for small x.
__attribute__((always_inline))
static inline $C log1p_$T($C x) {
  $R a = __real__ x, b = __imag__ x;
  $R near = ($R)0.5 * log1p_$R(a * (a + 2) + b * b);
  $R far = log_$R(magnitude_$T(complex_$T(1 + a, b)));
  s32 is_near = __builtin_fabs$f(a) + __builtin_fabs$f(b) < ($R)0.5;
  return complex_$T(is_near ? near : far, atan2_$R(b, 1 + a));
}

// t = e^|x| - 1, as of 700 where |x| is larger. Then sinh |x| is (t + t / (t + 1)) / 2, and cosh x is
// 1 + t / 2 t / (t + 1). As f32, what comes of 700 is infinite.
__attribute__((always_inline))
static inline f64 growth_f64(f64 x) {
  f64 size = __builtin_fabs(x);
  return expm1_f64(700.0 < size ? 700.0 : size);
}

// e^(|x| - 700), where that is more than 1.
__attribute__((always_inline))
static inline f64 further_growth_f64(f64 x) {
  f64 size = __builtin_fabs(x);
  return exp_f64(700.0 < size ? size - 700.0 : 0.0);
}

// sinh(a) cos b + i cosh(a) sin b.
__attribute__((always_inline))
static inline c64 sinh_c64(c64 x) {
  f32 a = __real__ x, b = __imag__ x;
  f64 t = growth_f64(a), rest = t / (t + 1.0), cosh = 1.0 + 0.5 * t * rest;
  f64 sinh = __builtin_copysign(0.5 * (t + rest), a);
  f64 real = product_or_zero(sinh, cosine_f32(b)), imaginary = product_or_zero(cosh, sine_f32(b));
  return complex_c64(undirected_f32(a, b) ? __builtin_inff() : (f32)real, (f32)imaginary);
}

__attribute__((always_inline))
static inline c128 sinh_c128(c128 x) {
  f64 a = __real__ x, b = __imag__ x, t = growth_f64(a), rest = t / (t + 1.0);
  f64 cosh = 1.0 + 0.5 * t * rest, sinh = __builtin_copysign(0.5 * (t + rest), a);
  f64 factor = further_growth_f64(a);
  f64 real = product_or_zero(sinh, cosine_f64(b)) * factor;
  f64 imaginary = product_or_zero(product_or_zero(cosh, sine_f64(b)), factor);
  return complex_c128(undirected_f64(a, b) ? __builtin_inf() : real, imaginary);
}

// cosh(a) cos b + i sinh(a) sin b.
__attribute__((always_inline))
static inline c64 cosh_c64(c64 x) {
  f32 a = __real__ x, b = __imag__ x;
  f64 t = growth_f64(a), rest = t / (t + 1.0), cosh = 1.0 + 0.5 * t * rest;
  f64 sinh = __builtin_copysign(0.5 * (t + rest), a);
  f64 real = cosh * cosine_f32(b), imaginary = product_or_zero(sinh, sine_f32(b));
  return complex_c64(undirected_f32(a, b) ? __builtin_inff() : (f32)real, (f32)imaginary);
}

__attribute__((always_inline))
static inline c128 cosh_c128(c128 x) {
  f64 a = __real__ x, b = __imag__ x, t = growth_f64(a), rest = t / (t + 1.0);
  f64 cosh = 1.0 + 0.5 * t * rest, sinh = __builtin_copysign(0.5 * (t + rest), a);
  f64 factor = further_growth_f64(a);
  f64 real = cosh * cosine_f64(b) * factor;
  f64 imaginary = product_or_zero(product_or_zero(sinh, sine_f64(b)), factor);
  return complex_c128(undirected_f64(a, b) ? __builtin_inf() : real, imaginary);
}

// (sinh(a) cosh(a) + i sin b cos b) / (sinh(a)^2 + cos^2 b). From 60 on it is 1, or -1.
__attribute__((always_inline))
static inline c64 tanh_c64(c64 x) {
  f32 a = __real__ x, b = __imag__ x;
  f64 t = growth_f64(a > 60.0f ? 60.0f : a < -60.0f ? -60.0f : a), rest = t / (t + 1.0);
  f64 cosh = 1.0 + 0.5 * t * rest, sinh = __builtin_copysign(0.5 * (t + rest), a);
  f64 sine = sine_f32(b), cosine = cosine_f32(b);
  f64 scale = sinh * sinh + cosine * cosine;
  s32 undirected = undirected_f32(a, b);
  f64 real = undirected ? __builtin_copysignf(1.0f, a) : sinh * cosh / scale;
  real = a == 0 ? a : real;
  f64 imaginary = undirected ? __builtin_copysignf(0.0f, b) : sine * cosine / scale;
  return complex_c64((f32)real, b == 0 ? b : (f32)imaginary);
}

// By u = e^(-2 |a|) the tangent is (1 - u^2 + 4iu sin b cos b) / ((1 - u)^2 + 4u cos^2 b).
__attribute__((always_inline))
static inline c128 tanh_c128(c128 x) {
  f64 a = __real__ x, b = __imag__ x, size = __builtin_fabs(a);
  f64 u = exp_f64(-2.0 * size), less = -expm1_f64(-2.0 * size);
  f64 sine = sine_f64(b), cosine = cosine_f64(b);
  f64 scale = less * less + 4.0 * u * cosine * cosine;
  s32 undirected = undirected_f64(a, b);
  f64 real = undirected ? 1.0 : a == 0 ? 0.0 : less * (1.0 + u) / scale;
  f64 imaginary = undirected ? __builtin_copysign(0.0, b) : 4.0 * u * sine * cosine / scale;
  return complex_c128(__builtin_copysign(real, a), b == 0 ? b : imaginary);
}

// i sinh(-ix), cosh(ix) and i tanh(-ix).
__attribute__((always_inline))
static inline $C sine_$T($C x) {
  $C turned = sinh_$T(complex_$T(__imag__ x, -__real__ x));
  return complex_$T(-__imag__ turned, __real__ turned);
}

__attribute__((always_inline))
static inline $C cosine_$T($C x) {
  return cosh_$T(complex_$T(-__imag__ x, __real__ x));
}

__attribute__((always_inline))
static inline $C tangent_$T($C x) {
  $C turned = tanh_$T(complex_$T(__imag__ x, -__real__ x));
  return complex_$T(-__imag__ turned, __real__ turned);
}

// |x|^y exp(i y arg x), with y complex in both factors; powers of 1 and 0th powers are 1, positive
// powers of 0 are 0, and of infinity infinite.
__attribute__((always_inline))
static inline $C power_$T($C x, $C y) {
  $R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  $R size = magnitude_$T(x), angle = atan2_$R(b, a), whole = power_$R(size, c);
  $R power_of_size = whole * exp_$R(-d * angle), direction = c * angle + d * log_$R(size);
  $R real = power_of_size * cosine_$R(direction), imaginary = power_of_size * sine_$R(direction);
  s32 zero = (a == 0) & (b == 0) & (c > 0);
  s32 infinite = (a == __builtin_inf$f()) & (b == 0) & (c != 0);
  s32 limit = (d == 0) & (zero | infinite);
  s32 one = ((a == 1) & (b == 0)) | ((c == 0) & (d == 0));
  real = limit ? whole : real;
  imaginary = limit ? 0 : imaginary;
  return complex_$T(one ? 1 : real, one ? 0 : imaginary);
}

// The angle of the point (y, x), continued: -i log((x + iy) / sqrt(x^2 + y^2)).
__attribute__((always_inline))
static inline $C atan2_$T($C y, $C x) {
  $C squares = multiply_$T(x, x) + multiply_$T(y, y);
  $C sum = complex_$T(__real__ x - __imag__ y, __imag__ x + __real__ y);
  $C logarithm = log_$T(divide_$T(sum, sqrt_$T(squares)));
  return complex_$T(__imag__ logarithm, -__real__ logarithm);
}
