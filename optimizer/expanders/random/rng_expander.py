"""Draws random numbers by Philox from the state of the device's generator.

uniform integers:  low + bits mod (high - low)
uniform floats:    low + (high - low) u,   u = as many bits as a mantissa has, as a fraction
normal floats:     mean + deviation sqrt(-2 log u) sin(2 pi v), and the same with cos, for pairs
                   u, v (the transform of Box and Muller)

XLA draws the key in every compilation anew; here it is always the interpreter's.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

from hlo.attributes import Rng
from hlo.types.element_type import U64
from hlo.types.shape import array
from interpreter.numbers.widths import float_format
from interpreter.random import DEVICE_KEY, halved
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import (
    UNSIGNED,
    bits_of,
    cut,
    number,
    size_of,
    spread,
    to_dims,
    to_type,
    wide,
)
from optimizer.expanders.random.rng_bits import interleaved, philox_bits
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("rng-expander", "rng", xla="xla/hlo/transforms/expanders/rng_expander.cc", always=True)
def draw(site: ExpansionSite) -> Instruction | None:
    """Replaces rng by rng-get-and-update-state and arithmetic."""
    shape, (a, b) = site.instr.shape, site.instr.operands
    element_type = shape.element_type
    if 0 in shape.dims:
        return splat(0, shape)
    if element_type.is_integer:
        return uniform_integers(site, a, b)
    if not element_type.is_floating:
        return None
    first, second = (spread(wide(x), shape.dims) for x in (a, b))
    if Rng.of(site.instr).distribution == "rng_normal":
        scaled = make("multiply", second, normal(site, first))
        return to_type(make("add", first, scaled), element_type)
    unit = fractions(bits(site, shape.dims), first)
    scaled = make("multiply", unit, make("subtract", second, first))
    return to_type(make("add", scaled, first), element_type)


def bits(site: ExpansionSite, dims: tuple[int, ...]) -> Instruction:
    """An array of random words; the device's generator moves on."""
    shape = site.instr.shape
    width = max(shape.element_type.bits, 32)
    delta = size_of(shape.dims) * width // 32
    state = make("rng-get-and-update-state", shape=array(U64, (2,)), delta=delta)
    low, high = (to_dims(cut(state, 0, i, i + 1), ()) for i in range(2))
    return philox_bits(number(DEVICE_KEY, U64), low, high, dims, width)


def uniform_integers(site: ExpansionSite, a: Instruction, b: Instruction) -> Instruction:
    """Integers from a on and below b."""
    shape = site.instr.shape
    element_type, words = shape.element_type, bits(site, shape.dims)
    word, unsigned = words.shape.element_type, UNSIGNED[element_type.bits]
    low, high = (to_type(bits_of(x, unsigned), word) for x in (a, b))
    span = make("and", make("subtract", high, low), 2**element_type.bits - 1)
    offset = make("remainder", words, spread(span, shape.dims))
    drawn = make("add", spread(low, shape.dims), offset)
    return bits_of(to_type(drawn, unsigned), element_type)


def fractions(words: Instruction, like: Instruction) -> Instruction:
    """Floats in [0, 1) of as many random bits as a mantissa has."""
    element_type = like.shape.element_type
    digits = float_format(element_type.dtype).mantissa_bits
    digits_kept = make("shift-right-logical", words, words.shape.element_type.bits - digits)
    return make("multiply", to_type(digits_kept, element_type), 2.0**-digits)


def normal(site: ExpansionSite, like: Instruction) -> Instruction:
    """Normally distributed floats of mean 0 and deviation 1, made in pairs."""
    dims = site.instr.shape.dims
    half, axis = halved(dims)
    pairs = (*half[: axis + 1], 2, *half[axis + 1 :])
    unit = fractions(bits(site, pairs), like)
    x, y = (to_dims(cut(unit, axis + 1, i, i + 1), half) for i in range(2))
    logarithm = make("log", make("maximum", x, 1e-7))
    radius = make("sqrt", make("multiply", -2, logarithm))
    angle = make("multiply", 2 * pi, y)
    sines = make("multiply", make("sine", angle), radius)
    cosines = make("multiply", make("cosine", angle), radius)
    return interleaved(sines, cosines, dims)
