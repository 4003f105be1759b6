// A stand-in for cuBLASLt and cuFFT: the functions that emit_cuda.libraries calls, on the processor.
//
// They compute in double, element by element, from nothing but what they are told of layouts.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>

extern "C" {
typedef int Status;
typedef std::complex<double> Number;
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, C_32F = 4, C_64F = 5, R_32I = 10, R_16BF = 14 };
struct Operation { int compute, scale; int32_t transpose_a = 0, transpose_b = 0; uint32_t epilogue = 1; const char *bias = nullptr; };
struct Layout { int type; uint64_t rows, columns; int64_t leading, stride = 0; int32_t batch = 1; };
struct Found { uint64_t algorithm[8]; size_t workspace; int state; float waves; int reserved[4]; };

static Number get(const void *array, int type, int64_t i) {
    if (type == C_32F) return ((const std::complex<float> *)array)[i];
    if (type == C_64F) return ((const Number *)array)[i];
    if (type == R_8I) return ((const int8_t *)array)[i];
    if (type == R_32I) return ((const int32_t *)array)[i];
    if (type == R_64F) return ((const double *)array)[i];
    if (type == R_32F) return ((const float *)array)[i];
    if (type == R_16F) return (double)((const _Float16 *)array)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)array)[i] << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static void put(void *array, int type, int64_t i, Number number) {
    double value = number.real();
    if (type == C_32F) { ((std::complex<float> *)array)[i] = (std::complex<float>)number; return; }
    if (type == C_64F) { ((Number *)array)[i] = number; return; }
    if (type == R_32I) { ((int32_t *)array)[i] = (int32_t)value; return; }
    if (type == R_64F) { ((double *)array)[i] = value; return; }
    if (type == R_32F) { ((float *)array)[i] = (float)value; return; }
    if (type == R_16F) { ((_Float16 *)array)[i] = (_Float16)value; return; }
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    ((uint16_t *)array)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

Status cublasLtCreate(void **handle) { return *handle = new int, 0; }
Status cublasLtMatmulDescCreate(void **made, int compute, int scale) { return *made = new Operation{compute, scale}, 0; }
Status cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    return *made = new Layout{type, rows, columns, leading}, 0;
}
Status cublasLtMatmulPreferenceCreate(void **made) { return *made = new uint64_t(0), 0; }
Status cublasLtMatmulPreferenceDestroy(void *preference) { return delete (uint64_t *)preference, 0; }
Status cublasLtMatmulDescSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    Operation &operation = *(Operation *)handle;
    void *place = attribute == 3 ? (void *)&operation.transpose_a : attribute == 4 ? (void *)&operation.transpose_b
                : attribute == 7 ? (void *)&operation.epilogue : attribute == 8 ? (void *)&operation.bias : nullptr;
    if (!place || bytes != (attribute == 8 ? 8u : 4u)) return 7;
    return memcpy(place, value, bytes), 0;
}
Status cublasLtMatrixLayoutSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    Layout &layout = *(Layout *)handle;
    if (attribute == 5 && bytes == 4) return memcpy(&layout.batch, value, 4), 0;
    if (attribute == 6 && bytes == 8) return memcpy(&layout.stride, value, 8), 0;
    return 7;
}
Status cublasLtMatmulPreferenceSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    return attribute == 1 && bytes == 8 ? (memcpy(handle, value, 8), 0) : 7;
}
static bool fits(const Operation &o, const Layout &a, const Layout &b, const Layout &d) {
    uint64_t m = o.transpose_a ? a.columns : a.rows, k = o.transpose_a ? a.rows : a.columns;
    uint64_t n = o.transpose_b ? b.rows : b.columns, deep = o.transpose_b ? b.columns : b.rows;
    return m == d.rows && n == d.columns && k == deep && a.batch == d.batch && b.batch == d.batch &&
           a.leading >= (int64_t)a.rows && b.leading >= (int64_t)b.rows && d.leading >= (int64_t)d.rows;
}
Status cublasLtMatmulAlgoGetHeuristic(void *, Operation *o, Layout *a, Layout *b, Layout *c, Layout *d, uint64_t *most,
                                      int asked, Found *found, int *count) {
    if (asked != 1 || c != d || !*most || !fits(*o, *a, *b, *d)) return *count = 0, 15;
    found->algorithm[0] = 42;
    return *count = 1, 0;
}
Status cublasLtMatmul(void *, Operation *o, const void *alpha, const void *a, Layout *of_a, const void *b, Layout *of_b,
                      const void *beta, const void *, Layout *, void *d, Layout *of_d, Found *algorithm, void *workspace,
                      size_t bytes, void *) {
    if (algorithm->algorithm[0] != 42 || !workspace || !bytes || !fits(*o, *of_a, *of_b, *of_d)) return 7;
    memset(workspace, 0xa5, bytes);
    bool wide = o->scale == R_64F || o->scale == C_64F, whole = o->scale == R_32I;
    if (o->compute != (wide ? 70 : whole ? 72 : 68) || get(beta, o->scale, 0) != 0.0) return 7;
    // Whole numbers lie by rows, of both.
    if (whole && !(o->transpose_a && !o->transpose_b && of_a->rows % 16 == 0 && of_d->rows % 4 == 0)) return 7;
    uint64_t deep = o->transpose_a ? of_a->rows : of_a->columns;
    for (int64_t batch = 0; batch < of_d->batch; ++batch)
        for (uint64_t column = 0; column < of_d->columns; ++column)
            for (uint64_t row = 0; row < of_d->rows; ++row) {
                Number sum = 0;
                for (uint64_t k = 0; k < deep; ++k) {
                    int64_t i = o->transpose_a ? row * of_a->leading + k : k * of_a->leading + row;
                    int64_t j = o->transpose_b ? k * of_b->leading + column : column * of_b->leading + k;
                    sum += get(a, of_a->type, batch * of_a->stride + i) * get(b, of_b->type, batch * of_b->stride + j);
                }
                sum *= get(alpha, o->scale, 0);
                if (o->epilogue & 4) sum += get(o->bias, of_d->type, row);
                if (o->epilogue & 2 && sum.real() <= 0) sum = 0;
                put(d, of_d->type, batch * of_d->stride + column * of_d->leading + row, sum);
            }
    return 0;
}

// ---- cuFFT --------------------------------------------------------------------------------------
struct Plan { int rank, type; long long lengths[3], batch; };
static Plan plans[64];
static int made;
Status cufftCreate(int *plan) { return *plan = ++made, made < 64 ? 0 : 2; }
Status cufftMakePlanMany64(int plan, int rank, long long *lengths, long long *in, long long, long long, long long *out,
                           long long, long long, int type, long long batch, size_t *size) {
    if (in || out || rank > 3) return 4;
    plans[plan] = {rank, type, {}, batch};
    memcpy(plans[plan].lengths, lengths, rank * sizeof *lengths);
    return *size = 0, 0;
}
Status cufftSetStream(int, void *) { return 0; }
static void transformed(const Plan &plan, Number *values, int sign) {
    long long total = 1, stride = 1;
    for (int d = 0; d < plan.rank; ++d) total *= plan.lengths[d];
    for (int d = plan.rank; d--; stride *= plan.lengths[d]) {
        long long n = plan.lengths[d];
        Number *line = new Number[n];
        for (long long first = 0; first < total; ++first) {
            if (first / stride % n) continue;
            for (long long k = 0; k < n; ++k) {
                line[k] = 0;
                for (long long i = 0; i < n; ++i)
                    line[k] += values[first + i * stride] * std::polar(1.0, sign * 2 * M_PI * double(i * k % n) / n);
            }
            for (long long k = 0; k < n; ++k) values[first + k * stride] = line[k];
        }
        delete[] line;
    }
}
}
template <class T> static Status execute(int number, int kind, T *in, T *out, int sign) {
    const Plan &plan = plans[number];
    if (plan.type != kind) return 4;
    long long total = 1, last = plan.lengths[plan.rank - 1], half = last / 2 + 1;
    for (int d = 0; d < plan.rank; ++d) total *= plan.lengths[d];
    bool from_real = (kind & 15) == 10, to_real = (kind & 15) == 12;
    for (long long batch = 0; batch < plan.batch; ++batch) {
        Number *values = new Number[total];
        const T *from = in + batch * (from_real ? total : to_real ? 2 * (total / last * half) : 2 * total);
        T *to = out + batch * (to_real ? total : from_real ? 2 * (total / last * half) : 2 * total);
        for (long long i = 0; i < total; ++i) {
            long long k = i % last;
            if (from_real) values[i] = from[i];
            else if (!to_real) values[i] = Number(from[2 * i], from[2 * i + 1]);
            else {  // the other half are conjugates, at the opposite place of all dimensions
                long long at = i, other = 0, unit = 1;
                if (k >= half) {
                    for (int d = plan.rank; d--; unit *= plan.lengths[d]) {
                        long long n = plan.lengths[d], here = i / unit % n;
                        other += (n - here) % n * unit;
                    }
                    at = other;
                }
                long long place = at / last * half + at % last;
                values[i] = Number(from[2 * place], k >= half ? -from[2 * place + 1] : from[2 * place + 1]);
            }
        }
        transformed(plan, values, sign);
        for (long long i = 0; i < total; ++i) {
            if (to_real) to[i] = (T)values[i].real();
            else if (!from_real) to[2 * i] = (T)values[i].real(), to[2 * i + 1] = (T)values[i].imag();
            else if (i % last < half) {
                long long place = i / last * half + i % last;
                to[2 * place] = (T)values[i].real(), to[2 * place + 1] = (T)values[i].imag();
            }
        }
        delete[] values;
        if (to_real) memset((void *)from, 0xa5, sizeof(T));  // it may use its operand for work
    }
    return 0;
}
extern "C" {
Status cufftExecC2C(int plan, float *in, float *out, int sign) { return execute(plan, 0x29, in, out, sign); }
Status cufftExecZ2Z(int plan, double *in, double *out, int sign) { return execute(plan, 0x69, in, out, sign); }
Status cufftExecR2C(int plan, float *in, float *out) { return execute(plan, 0x2a, in, out, -1); }
Status cufftExecD2Z(int plan, double *in, double *out) { return execute(plan, 0x6a, in, out, -1); }
Status cufftExecC2R(int plan, float *in, float *out) { return execute(plan, 0x2c, in, out, 1); }
Status cufftExecZ2D(int plan, double *in, double *out) { return execute(plan, 0x6c, in, out, 1); }
}
