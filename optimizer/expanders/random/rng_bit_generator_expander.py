"""Writes the bit generators in arithmetic on u32 and u64.

rng-bit-generator(state)   =>   (state after as many steps, scrambled counters as an array)

The state is a key and a counter of one or two words of 64 bits, the low one first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import RngBitGenerator
from hlo.types.element_type import U64
from hlo.types.shape import array
from interpreter.random import is_state
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import UNSIGNED, bits_of, cut, joined, to_dims, to_type
from optimizer.expanders.random.rng_bits import (
    advanced,
    philox_bits,
    philox_steps,
    threefry_bits,
    threefry_steps,
)
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "rng-bit-generator-expander",
    "rng-bit-generator",
    xla="xla/hlo/transforms/expanders/rng_bit_generator_expander.cc",
)
def scramble_counters(site: ExpansionSite) -> Instruction | None:
    """Replaces rng-bit-generator by the arithmetic of Threefry or Philox."""
    instr, state = site.instr, site.instr.operands[0]
    if not instr.shape.is_tuple:
        return None
    data = instr.shape.elements[1]
    by_threefry = RngBitGenerator.of(instr).algorithm == "rng_three_fry"
    words = words_of(state)
    width = data.element_type.bits
    if words is None or (by_threefry and len(words) > 2) or 0 in data.dims:
        return None
    key, low, *high = words
    if by_threefry:
        bits = threefry_bits(key, low, data.dims, width)
        new, _ = advanced(low, threefry_steps(data.dims, width))
        after = [key, new]
    else:
        bits = philox_bits(key, low, high[0] if high else key, data.dims, width)
        new, carry = advanced(low, philox_steps(data.dims, width))
        after = [key, new, *(make("add", word, carry) for word in high)]
    state_words = joined([to_dims(word, (1,)) for word in after], 0)
    narrow = to_type(bits, UNSIGNED[width])
    return make("tuple", as_state(state_words, state), bits_of(narrow, data.element_type))


def words_of(state: Instruction) -> list[Instruction] | None:
    """The state as scalars of u64; None if it is none that a generator knows."""
    element_type, dims = state.shape.element_type, state.shape.dims
    if element_type.name not in ("u64", "u32") or len(dims) != 1:
        return None
    if not is_state(element_type, dims[0]):
        return None
    count = dims[0] * element_type.bits // 64
    if element_type.bits == 32:
        pairs = to_dims(state, (count, 2))
        state = make("bitcast-convert", pairs, shape=array(U64, (count,)))
    return [to_dims(cut(state, 0, i, i + 1), ()) for i in range(count)]


def as_state(words: Instruction, old: Instruction) -> Instruction:
    """Words of u64 in the type of the old state."""
    element_type, dims = old.shape.element_type, old.shape.dims
    if element_type is U64:
        return words
    pairs = array(element_type, (words.shape.dims[0], 2))
    return to_dims(make("bitcast-convert", words, shape=pairs), dims)
