// Atomic operations: one read-modify-write, of which all others are made.
#pragma once
#include "thread.h"

namespace cuda_on_host {
template <int BYTES> struct Word;
template <> struct Word<2> { using Type = uint16_t; };
template <> struct Word<4> { using Type = uint32_t; };
template <> struct Word<8> { using Type = uint64_t; };

// Replaces the value at an address by a function of it, in one step; gives the value that was there.
template <class T, class F>
CUDA_UNCHECKED T update(T *address, F next, int line, Update kind = READ_MODIFY_WRITE) {
    atomic_access(address, sizeof(T), kind, line);
#ifdef CUDA_ON_HOST_CHECKED  // on one processor thread, where nobody comes between
    T old = *address;
    *address = next(old);
#else
    using W = typename Word<sizeof(T)>::Type;
    W *place = (W *)address, was = __atomic_load_n(place, __ATOMIC_RELAXED), will;
    T old, made;
    do {
        __builtin_memcpy(&old, &was, sizeof old);
        made = next(old);
        __builtin_memcpy(&will, &made, sizeof will);
    } while (!__atomic_compare_exchange_n(place, &was, will, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
#endif
    return old;
}
// Parameters of this type take no part in the deduction of T.
template <class T> struct Same { using Type = T; };
template <class T> using Like = typename Same<T>::Type;
template <class T> T plus(T x, T y) { return x + y; }
template <> inline int plus(int x, int y) { return (int)((unsigned)x + (unsigned)y); }
template <> inline long long plus(long long x, long long y) {
    return (long long)((unsigned long long)x + (unsigned long long)y);
}
}  // namespace cuda_on_host

#define CUDA_ATOMIC_IN(NAME, SCOPE, NEXT)                                                       \
    template <class T> T NAME##SCOPE(T *address, cuda_on_host::Like<T> value, CUDA_LINE) {      \
        return cuda_on_host::update(address, [=](T old) -> T { return NEXT; }, line);           \
    }
#define CUDA_ATOMIC(NAME, NEXT)            \
    CUDA_ATOMIC_IN(NAME, , NEXT)           \
    CUDA_ATOMIC_IN(NAME, _block, NEXT)     \
    CUDA_ATOMIC_IN(NAME, _system, NEXT)
CUDA_ATOMIC(atomicAdd, cuda_on_host::plus(old, value))
CUDA_ATOMIC(atomicSub, (T)(0u + old - value))
CUDA_ATOMIC(atomicExch, ((void)old, value))
CUDA_ATOMIC(atomicMin, value < old ? value : old)
CUDA_ATOMIC(atomicMax, value > old ? value : old)
CUDA_ATOMIC(atomicAnd, old &value)
CUDA_ATOMIC(atomicOr, old | value)
CUDA_ATOMIC(atomicXor, old ^ value)
CUDA_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
CUDA_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
template <class T>
T atomicCAS(T *address, cuda_on_host::Like<T> expected, cuda_on_host::Like<T> value, CUDA_LINE) {
    return cuda_on_host::update(
        address,
        [=](T old) -> T {
            return __builtin_memcmp(&old, &expected, sizeof(T)) ? old : value;
        },
        line, cuda_on_host::COMPARE_AND_SWAP);
}
template <class T>
T atomicCAS_block(T *address, cuda_on_host::Like<T> expected, cuda_on_host::Like<T> value,
                  CUDA_LINE) {
    return atomicCAS(address, expected, value, line);
}
