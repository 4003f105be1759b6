"""Gives rng-bit-generator its state in words of 64 bits, and lets it yield the next one.

u32[9] rng-bit-generator(u32[4] s)   =>   get-tuple-element((u64[2], u32[9])
                                              rng-bit-generator(u64[2] bitcast-convert(s))), index=1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import U64
from hlo.types.shape import tuple_of
from interpreter.random import is_state
from optimizer.expanders.op_expander import ExpansionSite, element, expander
from optimizer.expanders.parts import to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("rng-bit-generator-canonicalizer", "rng-bit-generator", always=True)
def state_in_words(site: ExpansionSite) -> Instruction | None:
    """Replaces rng-bit-generator on another state, or without the next one, by the usual form."""
    instr, state = site.instr, site.instr.operands[0]
    kind, width = state.shape.element_type, state.shape.element_type.bits
    is_in_words = kind is U64 and state.shape.rank == 1
    if (is_in_words and instr.shape.is_tuple) or not is_state(kind, state.shape.size):
        return None
    count = state.shape.size * width // 64
    halves = to_dims(state, (count, 64 // width) if width < 64 else (count,))
    shape = state.shape.with_type(U64).with_dims((count,))
    words = state if is_in_words else make("bitcast-convert", halves, shape=shape)
    bits = instr.shape.elements[1] if instr.shape.is_tuple else instr.shape
    both = instr.with_(operands=(words,), shape=tuple_of(words.shape, bits))
    if not instr.shape.is_tuple:
        return element(both, 1)
    new = make("bitcast-convert", element(both, 0), shape=halves.shape)
    return make("tuple", to_dims(new, state.shape.dims), element(both, 1))
