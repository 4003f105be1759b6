// How the driver finds and calls the kernels of a file.
#pragma once
#include "words.h"

// The driver ends the file with a table of its kernels, which is all that Python sees of it.
namespace cuda_on_host {
struct Parameter { int bytes, kind; };  // kind: 0 integer, 1 pointer, 2 float or double, 3 other
template <class T> struct KindOf { enum { value = 3 }; };
template <class T> struct KindOf<T *> { enum { value = 1 }; };
#define CUDA_KIND(T, KIND) template <> struct KindOf<T> { enum { value = KIND }; };
CUDA_KIND(bool, 0) CUDA_KIND(char, 0) CUDA_KIND(signed char, 0) CUDA_KIND(unsigned char, 0)
CUDA_KIND(short, 0) CUDA_KIND(unsigned short, 0) CUDA_KIND(int, 0) CUDA_KIND(unsigned, 0)
CUDA_KIND(long, 0) CUDA_KIND(unsigned long, 0) CUDA_KIND(long long, 0)
CUDA_KIND(unsigned long long, 0) CUDA_KIND(float, 2) CUDA_KIND(double, 2)

template <int... I> struct Places {};
template <int N, int... I> struct Counted : Counted<N - 1, N - 1, I...> {};
template <int... I> struct Counted<0, I...> { using Type = Places<I...>; };

template <auto KERNEL> struct Call;
template <class... A, void (*KERNEL)(A...)> struct Call<KERNEL> {
    static constexpr int count = sizeof...(A);
    static constexpr Parameter parameters[] = {{(int)sizeof(A), KindOf<A>::value}..., {0, 0}};
    template <int... I> static CUDA_UNCHECKED void with(void **arguments, Places<I...>) {
        KERNEL(*(A *)arguments[I]...);
    }
    static void run(void **arguments) { with(arguments, typename Counted<sizeof...(A)>::Type()); }
};
struct Kernel {
    const char *name;
    void (*run)(void **arguments);
    const Parameter *parameters;
    int count;
};
}  // namespace cuda_on_host
#define CUDA_KERNEL(NAME, K)                                                            \
    {NAME, cuda_on_host::Call<K>::run, cuda_on_host::Call<K>::parameters, cuda_on_host::Call<K>::count}
