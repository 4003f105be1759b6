// Complex numbers, which CUDA C has no type of. $T is c64 or c128, $R the type of the parts, $f the
// suffix of functions for it.

struct c64 {
  f32 re, im;
  c64() = default;
  __device__ c64(f32 real, f32 imaginary = 0) : re(real), im(imaginary) {}
  __device__ explicit c64(struct c128 x);
};

struct c128 {
  f64 re, im;
  c128() = default;
  __device__ c128(f64 real, f64 imaginary = 0) : re(real), im(imaginary) {}
  __device__ c128(c64 x) : re(x.re), im(x.im) {}
};
static __device__ inline c64 make_complex(f32 real, f32 imaginary) {
  return c64(real, imaginary);
}
static __device__ inline c128 make_complex(f64 real, f64 imaginary) {
  return c128(real, imaginary);
}
__device__ inline c64::c64(c128 x) : re((f32)x.re), im((f32)x.im) {}
static __device__ inline f32 real_part(f32 x) { return x; }
static __device__ inline f64 real_part(f64 x) { return x; }
static __device__ inline f32 real_part(c64 x) { return x.re; }
static __device__ inline f64 real_part(c128 x) { return x.re; }
static __device__ inline f32 imag_part(f32) { return 0; }
static __device__ inline f64 imag_part(f64) { return 0; }
static __device__ inline f32 imag_part(c64 x) { return x.im; }
static __device__ inline f64 imag_part(c128 x) { return x.im; }
static __device__ inline c64 operator-(c64 x) { return c64(-x.re, -x.im); }
static __device__ inline c128 operator-(c128 x) { return c128(-x.re, -x.im); }
static __device__ inline c64 operator+(c64 x, c64 y) { return c64(x.re + y.re, x.im + y.im); }
static __device__ inline c128 operator+(c128 x, c128 y) { return c128(x.re + y.re, x.im + y.im); }
static __device__ inline c64 operator-(c64 x, c64 y) { return c64(x.re - y.re, x.im - y.im); }
static __device__ inline c128 operator-(c128 x, c128 y) { return c128(x.re - y.re, x.im - y.im); }
static __device__ inline c64 &operator+=(c64 &x, c64 y) { return x = x + y; }
static __device__ inline c128 &operator+=(c128 &x, c128 y) { return x = x + y; }
static __device__ inline c64 &operator-=(c64 &x, c64 y) { return x = x - y; }
static __device__ inline c128 &operator-=(c128 &x, c128 y) { return x = x - y; }
static __device__ inline c64 operator/(c64 x, f32 y) { return c64(x.re / y, x.im / y); }
static __device__ inline c128 operator/(c128 x, f64 y) { return c128(x.re / y, x.im / y); }
static __device__ inline bool operator==(c64 x, c64 y) { return x.re == y.re && x.im == y.im; }
static __device__ inline bool operator==(c128 x, c128 y) { return x.re == y.re && x.im == y.im; }
static __device__ inline bool operator!=(c64 x, c64 y) { return !(x == y); }
static __device__ inline bool operator!=(c128 x, c128 y) { return !(x == y); }

static __device__ inline $C complex_$T($R real, $R imaginary) {
  return make_complex(real, imaginary);
}

// A magnitude times the cosine and the sine of an angle; where the angle is 0, so is the part.
static __device__ inline $C complex_at_$T($R size, $R angle) {
  if (angle == 0) return complex_$T(size, angle);
  if (size == 0 && angle - angle != 0) return complex_$T(0, 0);
  if (size - size != 0 && angle - angle != 0) return complex_$T(size, quiet_nan_$R());
  return complex_$T(size * cos$f(angle), size * sin$f(angle));
}

static __device__ inline $C complex_exp_$T($C x) {
  if (x.re == infinity_$R() && x.im - x.im != 0) return complex_$T(x.re, quiet_nan_$R());
  return complex_at_$T(exp$f(x.re), x.im);
}

static __device__ inline $C complex_log_$T($C x) {
  $R a = fabs$f(x.re), b = fabs$f(x.im), larger = a > b ? a : b, smaller = a > b ? b : a;
  $R size = log$f(hypot$f(a, b));
  // Near the unit circle the rounding error of 1 counts.
  if (larger > ($R)0.5 && larger < 2) {
    size = log1p$f((larger - 1) * (larger + 1) + smaller * smaller) / 2;
  }
  return complex_$T(size, atan2$f(x.im, x.re));
}

static __device__ inline $C complex_sinh_$T($C x) {
  if (x.im == 0) return complex_$T(sinh$f(x.re), x.im);
  if (x.re == 0) return complex_$T(x.re, sin$f(x.im));
  return complex_$T(sinh$f(x.re) * cos$f(x.im), cosh$f(x.re) * sin$f(x.im));
}

static __device__ inline $C complex_cosh_$T($C x) {
  if (x.im == 0) return complex_$T(cosh$f(x.re), x.re < 0 ? -x.im : x.im);
  if (x.re == 0) return complex_$T(cos$f(x.im), x.re * sin$f(x.im));
  return complex_$T(cosh$f(x.re) * cos$f(x.im), sinh$f(x.re) * sin$f(x.im));
}

// (sinh a cosh a + i sin b cos b) / (sinh^2 a + cos^2 b); for large a it is 1 and nearly nothing.
static __device__ inline $C complex_tanh_$T($C x) {
  $R a = x.re, b = x.im;
  if (fabs$f(a) > ($W == 64 ? 11 : 22)) {
    $R rest = b - b == 0 ? 4 * sin$f(b) * cos$f(b) * exp$f(-2 * fabs$f(a)) : 0;
    return complex_$T(copysign$f(1, a), rest);
  }
  $R sine = sin$f(b), cosine = cos$f(b), s = sinh$f(a), scale = s * s + cosine * cosine;
  return complex_$T(s * cosh$f(a) / scale, sine * cosine / scale);
}

// Functions of a number turned by a quarter: sin x = -i sinh(i x), and so on.
static __device__ inline $C complex_sin_$T($C x) {
  $C y = complex_sinh_$T(complex_$T(-x.im, x.re));
  return complex_$T(y.im, -y.re);
}

static __device__ inline $C complex_cos_$T($C x) {
  return complex_cosh_$T(complex_$T(-x.im, x.re));
}

static __device__ inline $C complex_tan_$T($C x) {
  $C y = complex_tanh_$T(complex_$T(-x.im, x.re));
  return complex_$T(y.im, -y.re);
}

// asinh x = log(x + sqrt(x^2 + 1)) where the real part is not negative; it is odd.
static __device__ inline c128 complex_asinh_c128(c128 x) {
  f64 a = fabs(x.re), b = fabs(x.im);
  // Two roots instead of the root of a square, so that nothing overflows or is lost.
  c128 p = sqrt_c128(c128(1 - b, a)), q = sqrt_c128(c128(1 + b, -a));
  f64 real = asinh(p.re * q.im * -1 + p.im * q.re);
  f64 imaginary = atan2(b, p.re * q.re - p.im * q.im);
  if (a == infinity_f64() || b == infinity_f64() || a > 1e150 || b > 1e150) {
    c128 far = complex_log_c128(c128(a, b));
    real = far.re + 0.6931471805599453, imaginary = far.im;
  }
  return c128(copysign(real, x.re), copysign(imaginary, x.im));
}

// acos x = 2 atan(sqrt(1 - x) / sqrt(1 + x)) in real parts, its imaginary part by asinh.
static __device__ inline c128 complex_acos_c128(c128 x) {
  c128 p = sqrt_c128(c128(1 - x.re, -x.im)), q = sqrt_c128(c128(1 + x.re, x.im));
  f64 size = complex_asinh_c128(c128(-x.im, x.re)).re;
  return c128(2 * atan2(p.re, q.re), copysign(fabs(size), -x.im));
}

static __device__ inline c128 complex_asin_c128(c128 x) {
  c128 y = complex_asinh_c128(c128(-x.im, x.re));
  return c128(y.im, -y.re);
}

// acosh x is acos x, turned so that the real part is not negative.
static __device__ inline c128 complex_acosh_c128(c128 x) {
  c128 y = complex_acos_c128(x);
  return c128(fabs(y.im), copysign(y.re, x.im));
}

// atanh x = log((1 + x) / (1 - x)) / 2.
static __device__ inline c128 complex_atanh_c128(c128 x) {
  f64 a = x.re, b = x.im, down = (1 - a) * (1 - a) + b * b;
  f64 real = log1p(4 * fabs(a) / down) / 4;
  f64 imaginary = atan2(2 * b, (1 - a) * (1 + a) - b * b) / 2;
  if (fabs(a) > 1e150 || fabs(b) > 1e150) {
    real = 0, imaginary = copysign(1.5707963267948966, b);
  }
  if (a < 0) real = log1p(4 * fabs(a) / ((1 + a) * (1 + a) + b * b)) / 4;
  return c128(copysign(real, a), imaginary);
}

static __device__ inline c64 complex_asinh_c64(c64 x) {
  return c64(complex_asinh_c128(x));
}

static __device__ inline c64 complex_acos_c64(c64 x) {
  return c64(complex_acos_c128(x));
}

static __device__ inline c64 complex_asin_c64(c64 x) {
  return c64(complex_asin_c128(x));
}

static __device__ inline c64 complex_acosh_c64(c64 x) {
  return c64(complex_acosh_c128(x));
}

static __device__ inline c64 complex_atanh_c64(c64 x) {
  return c64(complex_atanh_c128(x));
}
