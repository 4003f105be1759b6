"""The bit generators Threefry and Philox in instructions: ciphers that scramble counters.

References
----------
J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011. XLA, `xla/hlo/builder/
lib/prng.cc`. The interpreter's generators, `interpreter/random.py`, are the same to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import U32, U64
from interpreter.random import (
    PHILOX_KEY_STEPS,
    PHILOX_MULTIPLIERS,
    THREEFRY_PARITY,
    THREEFRY_ROTATIONS,
    halved,
)
from optimizer.expanders.parts import (
    counting,
    cut,
    joined,
    less,
    size_of,
    spread,
    to_dims,
    to_type,
)
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction

    Words = tuple[Instruction, ...]


def split(x: Instruction) -> Words:
    """The low and the high word of u64 numbers."""
    return to_type(x, U32), to_type(make("shift-right-logical", x, 32), U32)


def join(low: Instruction, high: Instruction) -> Instruction:
    """The u64 numbers of low and high words."""
    return make("or", to_type(low, U64), make("shift-left", to_type(high, U64), 32))


def counters(low: Instruction, high: Instruction, count: int) -> Words:
    """The 128-bit numbers from a start on, one after the other, as four words, the lowest first."""
    lows = make("add", spread(low, (count,)), counting(U64, (count,), 0))
    carry = to_type(less(lows, spread(low, (count,))), U64)
    highs = make("add", spread(high, (count,)), carry)
    return (*split(lows), *split(highs))


def philox(key: Instruction, words: Words) -> Words:
    """Philox-4x32 with 10 rounds: four words from a counter of four."""
    a, b, c, d = words
    low, high = (spread(word, a.shape.dims) for word in split(key))
    for _ in range(10):
        low_a, high_a = product(a, PHILOX_MULTIPLIERS[0])
        low_c, high_c = product(c, PHILOX_MULTIPLIERS[1])
        a, b = make("xor", make("xor", high_c, b), low), low_c
        c, d = make("xor", make("xor", high_a, d), high), low_a
        low, high = make("add", low, PHILOX_KEY_STEPS[0]), make("add", high, PHILOX_KEY_STEPS[1])
    return a, b, c, d


def product(x: Instruction, factor: int) -> Words:
    """The low and the high word of a product."""
    return split(make("multiply", to_type(x, U64), factor))


def threefry(key: Instruction, x: Instruction, y: Instruction) -> Words:
    """Threefry-2x32 with 20 rounds: two words from a counter of two."""
    low, high = split(key)
    parity = make("xor", make("xor", low, high), THREEFRY_PARITY)
    keys = [spread(word, x.shape.dims) for word in (low, high, parity)]
    x, y = make("add", x, keys[0]), make("add", y, keys[1])
    for group in range(5):
        for distance in THREEFRY_ROTATIONS[group % 2]:
            x = make("add", x, y)
            left = make("shift-left", y, distance)
            right = make("shift-right-logical", y, 32 - distance)
            y = make("xor", make("or", left, right), x)
        x = make("add", x, keys[(group + 1) % 3])
        y = make("add", make("add", y, keys[(group + 2) % 3]), group + 1)
    return x, y


def philox_bits(
    key: Instruction, low: Instruction, high: Instruction, dims: tuple[int, ...], width: int
) -> Instruction:
    """An array of random words of u32, or of u64 if the width is 64.

    A counter gives 128 bits, which go to the next elements in row-major order.
    """
    count = size_of(dims)
    steps = philox_steps(dims, width)
    words = philox(key, counters(low, high, steps))
    if width == 64:
        words = (join(*words[:2]), join(*words[2:]))
    rows = joined([to_dims(word, (steps, 1)) for word in words], 1)
    return to_dims(cut(to_dims(rows, (size_of(rows.shape.dims),)), 0, 0, count), dims)


def philox_steps(dims: tuple[int, ...], width: int) -> int:
    """By how much the counter advances."""
    return -(-size_of(dims) * max(width, 32) // 128)


def threefry_bits(
    key: Instruction, low: Instruction, dims: tuple[int, ...], width: int
) -> Instruction:
    """Bits as of `philox_bits`, but a counter gives 64, whose halves go to two neighbours."""
    half = dims if width == 64 else halved(dims)[0]
    number = make("add", spread(low, (size_of(half),)), counting(U64, (size_of(half),), 0))
    words = threefry(key, *split(number))
    x, y = (to_dims(word, half) for word in words)
    return join(x, y) if width == 64 else interleaved(x, y, dims)


def threefry_steps(dims: tuple[int, ...], width: int) -> int:
    """By how much the counter advances."""
    return size_of(dims if width == 64 else halved(dims)[0])


def interleaved(x: Instruction, y: Instruction, dims: tuple[int, ...]) -> Instruction:
    """The array whose two halves are given: even indices from the first, odd from the second."""
    if not dims:
        return to_dims(x, ())
    half, axis = halved(dims)
    slim = (*half[: axis + 1], 1, *half[axis + 1 :])
    pairs = joined([to_dims(x, slim), to_dims(y, slim)], axis + 1)
    whole = to_dims(pairs, (*half[:axis], 2 * half[axis], *half[axis + 1 :]))
    return cut(whole, axis, 0, dims[axis])


def advanced(low: Instruction, steps: int) -> Words:
    """The low half of a counter after some steps, and the carry into the high half."""
    new = make("add", low, steps)
    return new, to_type(less(new, low), U64)
