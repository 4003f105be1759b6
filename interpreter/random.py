"""Random numbers: the bit generators Threefry and Philox, and the device's own generator.

Both generators are counter-based: number i of a sequence is a function of (key, i), a cipher that
scrambles the counter. So they have no state besides the counter, and any part of the sequence can
be computed at once, by whoever holds the key.

References
----------
J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011. How the numbers are laid
out in an array is XLA's choice: `prng.cc` and RngBitGeneratorExpander.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from interpreter.numbers.floats import FLOATS
from interpreter.numbers.integers import remainder
from interpreter.numbers.widths import as_unsigned, float_format, narrowed, type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.attributes import Rng, RngBitGenerator, RngGetAndUpdateState
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]
    Words = tuple[Array, ...]

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA
PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
PHILOX_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
# Elements of these widths make up words of 64 bits; a state has two words or three.
WORD_BITS, STATE_BITS = (8, 16, 32, 64), (128, 192)
# XLA draws the key of `rng` anew in every compilation; here it is always this one.
DEVICE_KEY = 42


def is_state(element_type: ElementType, size: int) -> bool:
    """Whether so many elements are a state of the bit generators: two or three words of 64 bits."""
    in_words = element_type.bits in WORD_BITS and not element_type.is_complex
    return in_words and size * element_type.bits in STATE_BITS


def threefry(key: Words, counter: Words) -> Words:
    """Threefry-2x32 with 20 rounds: two words of 32 bits from a counter of two.

    Each round adds, rotates and xors; every fourth, a part of the key is added.
    """
    keys = (*key, key[0] ^ key[1] ^ np.uint32(THREEFRY_PARITY))
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(5):
        for distance in THREEFRY_ROTATIONS[group % 2]:
            x = x + y
            y = (y << np.uint32(distance) | y >> np.uint32(32 - distance)) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def philox(key: Words, counter: Words) -> Words:
    """Philox-4x32 with 10 rounds: four words of 32 bits from a counter of four.

    Each round multiplies two of the words by constants, and swaps and xors the products' halves.
    """
    a, b, c, d = counter
    low, high = key
    for _ in range(10):
        high_a, low_a = _product(a, PHILOX_MULTIPLIERS[0])
        high_c, low_c = _product(c, PHILOX_MULTIPLIERS[1])
        a, b, c, d = high_c ^ b ^ low, low_c, high_a ^ d ^ high, low_a
        low, high = low + np.uint32(PHILOX_KEY_STEPS[0]), high + np.uint32(PHILOX_KEY_STEPS[1])
    return a, b, c, d


def _product(x: Array, factor: int) -> Words:
    product = x.astype(np.uint64) * np.uint64(factor)
    return _split(product)[::-1]


def _split(x: Array) -> Words:
    """The low and the high word of u64 numbers."""
    return x.astype(np.uint32), (x >> np.uint64(32)).astype(np.uint32)


def _join(low: Array, high: Array) -> Array:
    """The u64 numbers of low and high words."""
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def _key_words(key: int) -> Words:
    """A key of 64 bits as two words; arrays of one, since NumPy lets only arrays wrap around."""
    return _split(np.asarray([key], np.uint64))


def _counters(start: int, count: int) -> Words:
    """The numbers start, start + 1, ... as words of 32 bits, the lowest of four first."""
    low, high = start % 2**64, start >> 64
    lows = np.uint64(low) + np.arange(count, dtype=np.uint64)
    highs = np.uint64(high) + (lows < np.uint64(low)).astype(np.uint64)
    return (*_split(lows), *_split(highs))


def philox_bits(key: int, start: int, dims: tuple[int, ...], width: int) -> tuple[Array, int]:
    """An array of random words, and where in the sequence the next one starts.

    A counter gives 128 bits, which go to the next elements in row-major order: 4 of at most 32
    bits (the low ones of 32) or 2 of 64.
    """
    count = prod(dims)
    steps = -(-count * max(width, 32) // 128)
    a, b, c, d = philox(_key_words(key), _counters(start, steps))
    words = (_join(a, b), _join(c, d)) if width == 64 else (a, b, c, d)
    numbers = np.stack(words, axis=1).reshape(-1)[:count].reshape(dims)
    return numbers, (start + steps) % 2**128


def threefry_bits(key: int, start: int, dims: tuple[int, ...], width: int) -> tuple[Array, int]:
    """As `philox_bits`, by Threefry: a counter gives one word of 64 bits or two of 32.

    The two go to elements that are neighbours in one dimension, see `halved`.
    """
    half = dims if width == 64 else halved(dims)[0]
    low, high, _, _ = _counters(start, prod(half))
    x, y = (word.reshape(half) for word in threefry(_key_words(key), (low, high)))
    numbers = _join(x, y) if width == 64 else interleaved(x, y, dims)
    return numbers, (start + prod(half)) % 2**64


def halved(dims: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Half of an array, rounded up, and the dimension that is halved.

    That is the first even one, or else the first of the longest; a scalar's half is one element.
    """
    if not dims:
        return (1,), 0
    even = [axis for axis, size in enumerate(dims) if size % 2 == 0]
    axis = even[0] if even else dims.index(max(dims))
    return (*dims[:axis], -(-dims[axis] // 2), *dims[axis + 1 :]), axis


def interleaved(x: Array, y: Array, dims: tuple[int, ...]) -> Array:
    """The array whose two halves are given: even indices from the first, odd from the second."""
    half, axis = halved(dims)
    pairs = np.stack((x, y), axis=axis + 1)
    whole = pairs.reshape(*half[:axis], 2 * half[axis], *half[axis + 1 :])
    return whole[tuple(slice(size) for size in dims)] if dims else x.reshape(())


@evaluates("rng-bit-generator", xla="RngBitGenerator. rng_default is Philox, as on XLA CPU")
def evaluate_rng_bit_generator(
    instr: Instruction, attrs: RngBitGenerator, state: Array
) -> tuple[Array, Array] | Array:
    """Random bits that follow from a state, and the state that follows.

    Parameters
    ----------
    state : its bytes are words of 64 bits: the key and the counter, of which there is one word or
        two, the low one first. With Philox and one word, the upper one is the key.

    Returns
    -------
    (Array, Array) or Array
        the new state, of the same shape and type, and the bits; in an older form, the bits alone.

    Raises
    ------
    HloError
        HLO102 if the state is of another size.
    """
    if not is_state(type_of(state), state.size):
        problem = f"a state of 16 or 24 bytes is needed, not of {state.nbytes}"
        raise HloError("HLO102", f"rng-bit-generator: {problem}", instr.span)
    data = instr.shape.elements[1] if instr.shape.is_tuple else instr.shape
    key, low, *high = (int(word) for word in state.ravel().view(np.uint64))
    width = data.element_type.bits
    if attrs.algorithm == "rng_three_fry":
        bits, after = threefry_bits(key, low, data.dims, width)
    else:
        upper = high[0] if high else key
        bits, after = philox_bits(key, low + (upper << 64), data.dims, width)
    numbers = _as_bits(bits, data.element_type)
    words = [key, after % 2**64, after >> 64][: 2 + len(high)]
    next_state = np.array(words, np.uint64).view(state.dtype).reshape(state.shape)
    return (next_state, numbers) if instr.shape.is_tuple else numbers


def _as_bits(words: Array, element_type: ElementType) -> Array:
    if element_type.is_integer and element_type.bits < 8:
        return narrowed(words, element_type)
    bits = words & words.dtype.type(2**element_type.bits - 1)
    return bits.astype(f"u{element_type.bytes}").view(element_type.dtype)


@evaluates("rng-get-and-update-state", xla="xla/backends/cpu/runtime/rng_state_lib.cc")
def evaluate_rng_get_and_update_state(
    frame: Frame, instr: Instruction, attrs: RngGetAndUpdateState
) -> Array:
    """The state of the device's generator, 128 bits with the low half first, before it advances."""
    state = frame.device.random_state(attrs.delta)
    return np.asarray([state % 2**64, state >> 64], instr.shape.element_type.dtype)


@evaluates("rng", xla="RngUniform and RngNormal; XLA's RngExpander")
def evaluate_rng(frame: Frame, instr: Instruction, attrs: Rng, a: Array, b: Array) -> Array:
    """Random numbers from the device's generator.

    Parameters
    ----------
    a, b : shape (); uniform numbers are at least a and less than b; normal ones have mean a and
        standard deviation b.

    Raises
    ------
    HloError
        HLO101 if the numbers are neither integers nor real.
    """
    element_type, dims = instr.shape.element_type, instr.shape.dims
    if not (element_type.is_integer or element_type.is_floating):
        raise HloError("HLO101", f"rng is not defined for {element_type}", instr.span)
    width = max(element_type.bits, 32)
    start = frame.device.random_state(prod(dims) * width // 32)
    if attrs.distribution == "rng_normal":
        value = widened(a) + widened(b) * _normal(start, dims, widened(a).dtype)
        return narrowed(value, element_type)
    bits, _ = philox_bits(DEVICE_KEY, start, dims, width)
    if element_type.is_integer:
        low, high = (as_unsigned(x).astype(bits.dtype) for x in (a, b))
        span = (high - low) & (2**element_type.bits - 1)
        return narrowed(low + remainder(bits, span), element_type)
    low, high = widened(a), widened(b)
    return narrowed(_unit(bits, low.dtype) * (high - low) + low, element_type)


def _unit(bits: Array, dtype: np.dtype[Any]) -> Array:
    """Floats in [0, 1) of as many random bits as a mantissa has."""
    digits = float_format(dtype).mantissa_bits
    words = bits >> (8 * bits.dtype.itemsize - digits)
    return words.astype(dtype) * dtype.type(2.0**-digits)


def _normal(start: int, dims: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Normally distributed floats by the transform of Box and Muller.

    A pair of uniform numbers is read as an angle and, through the logarithm, a radius; the point
    that it gives in the plane has two independent normal coordinates.
    """
    half, axis = halved(dims)
    pairs = (*half[: axis + 1], 2, *half[axis + 1 :])
    bits, _ = philox_bits(DEVICE_KEY, start, pairs, 8 * dtype.itemsize)
    x, y = np.moveaxis(_unit(bits, dtype), axis + 1, 0)
    radius = np.sqrt(-2 * FLOATS["log"](np.maximum(x, dtype.type(1e-7))))
    angle = dtype.type(2 * np.pi) * y
    return interleaved(FLOATS["sine"](angle) * radius, FLOATS["cosine"](angle) * radius, dims)
