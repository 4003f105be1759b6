// Loads and stores that only say something to the cache.
#pragma once
#include "words.h"

template <class T> inline T __ldg(const T *address) { return *address; }
template <class T> inline T __ldca(const T *address) { return *address; }
template <class T> inline T __ldcg(const T *address) { return *address; }
template <class T> inline T __ldcs(const T *address) { return *address; }
template <class T> inline T __ldlu(const T *address) { return *address; }
template <class T> inline T __ldcv(const T *address) { return *(const volatile T *)address; }
template <class T> inline void __stwb(T *address, T value) { *address = value; }
template <class T> inline void __stcg(T *address, T value) { *address = value; }
template <class T> inline void __stcs(T *address, T value) { *address = value; }
template <class T> inline void __stwt(T *address, T value) { *address = value; }
inline void __nanosleep(unsigned) {}
// The handle of a graph's condition is the address of its value.
extern "C" CUDA_UNCHECKED inline void cudaGraphSetConditional(unsigned long long handle, unsigned value) {
    *(unsigned *)handle = value;
}
