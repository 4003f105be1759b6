"""Gives dynamic slices their start as scalars, one a dimension, instead of one vector.

dynamic-slice(x, s32[2] v)   =>   dynamic-slice(x, v[0], v[1])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import cut, to_dims

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "dynamic-index-splitter",
    "dynamic-slice",
    "dynamic-update-slice",
    xla="xla/service/dynamic_index_splitter.cc",
)
def split_index(site: ExpansionSite) -> Instruction | None:
    """Splits the index vectors of dynamic-slice and dynamic-update-slice."""
    instr = site.instr
    first = 1 if instr.opcode == "dynamic-slice" else 2
    if len(instr.operands) == first or instr.operands[first].shape.rank != 1:
        return None
    vector = instr.operands[first]
    scalars = [to_dims(cut(vector, 0, i, i + 1), ()) for i in range(vector.shape.dims[0])]
    # A scalar has nowhere to start: it is its own slice, and the update replaces it whole.
    if not scalars:
        return instr.operands[first - 1]
    return instr.with_(operands=(*instr.operands[:first], *scalars))
