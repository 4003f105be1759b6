"""Reads bits under wider or narrower types by shifting them.

u8[n,4] to u32[n]   =>   reduce(convert(x) << 8 i) with or over the last dimension, i = its place
u32[n] to u8[n,4]   =>   convert(broadcast(x) >> 8 i)

The element with index 0 holds the lowest bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import (
    UNSIGNED,
    bits_of,
    counting,
    folded,
    number,
    spread,
    to_type,
)
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "bitcast_dtypes_expander",
    "bitcast-convert",
    xla="xla/hlo/transforms/expanders/bitcast_dtypes_expander.cc",
)
def shift_bits(site: ExpansionSite) -> Instruction | None:
    """Replaces bitcast-converts between types of different width by shifts."""
    instr = site.instr
    operand, target = instr.operands[0], instr.shape.element_type
    source = operand.shape.element_type
    if source.bits == target.bits or {source.kind, target.kind} & {"pred", "complex"}:
        return None
    word = UNSIGNED[max(source.bits, target.bits)]
    bits = bits_of(operand, UNSIGNED[source.bits])
    if source.bits < target.bits:
        parts = to_type(bits, word)
        last = parts.shape.rank - 1
        places = make("multiply", counting(word, parts.shape.dims, last), source.bits)
        raised = make("shift-left", parts, places)
        whole = folded(raised, number(0, word), (last,), site.binary("or", word))
        return bits_of(whole, target)
    dims = instr.shape.dims
    last = len(dims) - 1
    places = make("multiply", counting(word, dims, last), target.bits)
    lowered = make("shift-right-logical", spread(bits, dims, range(last)), places)
    return bits_of(to_type(lowered, UNSIGNED[target.bits]), target)
