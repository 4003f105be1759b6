// nvcuda::wmma: products of matrices that a warp holds.
#pragma once
#include "warps.h"
#include "mathematics.h"

// A warp holds a matrix between its lanes. Which lane holds which element is the GPU's secret in
// wmma; here, lane k of an m x n matrix holds elements k * mn / 32 onward, row by row. In a
// product, every lane looks at the fragments of all others, which wait for it.
namespace nvcuda { namespace wmma {
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
namespace precision { struct tf32 {}; }
enum layout_t { mem_row_major, mem_col_major };
template <class T> struct Held { using Type = T; };
template <> struct Held<precision::tf32> { using Type = float; };

template <class Use, int M, int N, int K> struct Extent;
template <int M, int N, int K> struct Extent<matrix_a, M, N, K> { enum { rows = M, columns = K }; };
template <int M, int N, int K> struct Extent<matrix_b, M, N, K> { enum { rows = K, columns = N }; };
template <int M, int N, int K> struct Extent<accumulator, M, N, K> { enum { rows = M, columns = N }; };

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    enum { rows = Extent<Use, M, N, K>::rows, columns = Extent<Use, M, N, K>::columns };
    enum { num_elements = rows * columns / 32 };
    typename Held<T>::Type x[num_elements];
};
inline float __float_to_tf32(float x) {
    uint32_t word = cuda_on_host::bits<uint32_t>(x);
    return x != x ? x : cuda_on_host::bits<float>((word + 0x1000) & ~0x1fffu);  // ties away from 0
}
template <class F, class T> void fill_fragment(F &f, const T &value) {
    for (int i = 0; i < F::num_elements; ++i) f.x[i] = value;
}
template <class F> int offset_of(int i, unsigned stride, bool by_columns) {
    int element = cuda_on_host::here.lane * F::num_elements + i;
    int row = element / F::columns, column = element % F::columns;
    return by_columns ? column * stride + row : row * stride + column;
}
template <class L> struct ByColumns { enum { value = 0 }; };
template <> struct ByColumns<col_major> { enum { value = 1 }; };
template <class U, int M, int N, int K, class T, class L, class P>
void load_matrix_sync(fragment<U, M, N, K, T, L> &f, const P *from, unsigned stride, CUDA_LINE) {
    using F = fragment<U, M, N, K, T, L>;
    __syncwarp(~0u, line);
    for (int i = 0; i < F::num_elements; ++i)
        f.x[i] = from[offset_of<F>(i, stride, ByColumns<L>::value)];
}
template <int M, int N, int K, class T>
void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *from, unsigned stride,
                      layout_t layout, CUDA_LINE) {
    using F = fragment<accumulator, M, N, K, T>;
    __syncwarp(~0u, line);
    for (int i = 0; i < F::num_elements; ++i)
        f.x[i] = from[offset_of<F>(i, stride, layout == mem_col_major)];
}
template <int M, int N, int K, class T>
void store_matrix_sync(T *to, const fragment<accumulator, M, N, K, T> &f, unsigned stride,
                       layout_t layout, CUDA_LINE) {
    using F = fragment<accumulator, M, N, K, T>;
    __syncwarp(~0u, line);
    for (int i = 0; i < F::num_elements; ++i)
        to[offset_of<F>(i, stride, layout == mem_col_major)] = f.x[i];
}
template <class F> CUDA_UNCHECKED auto element(const cuda_on_host::Exchange &met, int row, int column) {
    int index = row * F::columns + column;
    return ((const F *)met.word[index / F::num_elements])->x[index % F::num_elements];
}
template <class D, class A, class B, class C>
CUDA_UNCHECKED void mma_sync(D &d, const A &a, const B &b, const C &c, CUDA_LINE) {
    using namespace cuda_on_host;
    const Exchange &as = meet(~0u, (uint64_t)&a, "mma_sync", line);
    const A *all_a[32];
    for (int i = 0; i < 32; ++i) all_a[i] = (const A *)as.word[i];
    leave(as);
    const Exchange &bs = meet(~0u, (uint64_t)&b, "mma_sync", line);
    D made;
    for (int i = 0; i < D::num_elements; ++i) {
        int place = here.lane * D::num_elements + i, row = place / D::columns;
        auto sum = c.x[i] + 0;
        for (int k = 0; k < A::columns; ++k) {
            int at = row * A::columns + k;
            sum += (decltype(sum))all_a[at / A::num_elements]->x[at % A::num_elements] *
                   (decltype(sum))element<B>(bs, k, place % D::columns);
        }
        made.x[i] = sum;
    }
    leave(bs);
    leave(meet(~0u, 0, "mma_sync", line));  // nobody changes a fragment that others still read
    d = made;
}
}}  // namespace nvcuda::wmma
