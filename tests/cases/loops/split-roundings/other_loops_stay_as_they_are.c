// Other loops stay as they are.
#pragma omp simd
for (s64 i = 0; i < 47; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  const f32 w = narrow_f16(v * v);
  y[i] = store_f16(w + v);
}
// STAYS

#pragma omp simd reduction(+ : t)
for (s64 i = 0; i < 300; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  const f32 w = narrow_f16(v * v);
  y[i * 2] = store_f16(w + v);
}
// STAYS

// Other loops stay as they are. (No rounding.)
#pragma omp simd
for (s64 i = 0; i < 300; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  y[i] = v;
}
// STAYS

// Other loops stay as they are. (Read behind.)
#pragma omp simd
for (s64 i = 0; i < 300; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  const f32 w = narrow_f16(v * v);
  x[i + 1] = store_f16(w + v);
}
// STAYS

// Other loops stay as they are.
#pragma omp simd
for (s64 i = 0; i < 300; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  const f32 w = narrow_f16(v * v);
  s[i] = s[i] + w;
}
// STAYS

// Other loops stay as they are. (A long function twice.)
#pragma omp simd
for (s64 i = 0; i < 300; i++) {
  const f16 bits = x[i];
  const f32 v = load_f16(bits);
  const f32 w = narrow_f16(v * v);
  const f32 e = exp_f32(v);
  y[i] = store_f16(e + w);
}
// STAYS
