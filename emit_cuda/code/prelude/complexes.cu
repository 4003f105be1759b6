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

// A sum and a product, whose four parts are added one by one, each rounded once.
static __device__ inline $C multiply_add_$T($C x, $C y, $C sum) {
  return make_complex(fma$f(-x.im, y.im, fma$f(x.re, y.re, sum.re)),
                      fma$f(x.im, y.re, fma$f(x.re, y.im, sum.im)));
}

// asinh x = log(x + sqrt(x^2 + 1)) where the real part is not negative; it is odd.
static __device__ inline c128 complex_asinh_c128(c128 x) {
  f64 a = fabs(x.re), b = fabs(x.im);
  // Two roots instead of the root of a square, so that nothing overflows or is lost.
  c128 p = sqrt_c128(c128(1 - b, a)), q = sqrt_c128(c128(1 + b, -a));
  f64 real = asinh(p.re * q.im * -1 + p.im * q.re);
  f64 imaginary = atan2(b, p.re * q.re - p.im * q.im);
  if (a == infinity_f64() || b == infinity_f64() || a > 1e150 || b > 1e150) {
    c128 far = log_c128(c128(a, b));
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

// acosh x is acos x, rotated so that the real part is not negative.
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

//: acos, acosh, asin, asinh, atanh
static __device__ inline c64 complex_$1_c64(c64 x) {
  return c64(complex_$1_c128(x));
}
