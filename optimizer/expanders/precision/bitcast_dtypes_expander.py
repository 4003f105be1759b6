"""Reads bits under wider or narrower types by shifting them.

u8[n,4] to u32[n]   =>   reduce(convert(x) << 8 i) with or over the last dimension, i = its index
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
from optimizer.rewriting.pattern import bitcast_convert, x

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.names import NameSupply


@expander(
    "bitcast_dtypes_expander",
    bitcast_convert(x),
    xla="xla/hlo/transforms/expanders/bitcast_dtypes_expander.cc",
)
def shift_bits(root: Instruction, x: Instruction, names: NameSupply) -> Instruction | None:
    """Replaces bitcast-converts between types of different width by shifts."""
    source, target = x.shape.element_type, root.shape.element_type
    if source.bits == target.bits or {source.kind, target.kind} & {"pred", "complex"}:
        return None
    word = UNSIGNED[max(source.bits, target.bits)]
    bits = bits_of(x, UNSIGNED[source.bits])
    if source.bits < target.bits:
        parts = to_type(bits, word)
        last = parts.shape.rank - 1
        shifts = make("multiply", counting(word, parts.shape.dims, last), source.bits)
        raised = make("shift-left", parts, shifts)
        either = ExpansionSite(root, names).binary("or", word)
        whole = folded(raised, number(0, word), (last,), either)
        return bits_of(whole, target)
    dims = root.shape.dims
    last = len(dims) - 1
    shifts = make("multiply", counting(word, dims, last), target.bits)
    lowered = make("shift-right-logical", spread(bits, dims, range(last)), shifts)
    return bits_of(to_type(lowered, UNSIGNED[target.bits]), target)
