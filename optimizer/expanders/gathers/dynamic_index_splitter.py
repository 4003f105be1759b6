"""Gives dynamic slices their start as scalars, one a dimension, instead of one vector.

dynamic-slice(x, s32[2] v)   =>   dynamic-slice(x, v[0], v[1])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import cut, to_dims
from optimizer.rewriting.pattern import dynamic_slice, dynamic_update_slice, one_of, xs

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "dynamic-index-splitter",
    one_of(dynamic_slice, dynamic_update_slice)(xs),
    xla="xla/service/dynamic_index_splitter.cc",
)
def split_index(root: Instruction, xs: tuple[Instruction, ...]) -> Instruction | None:
    """Splits the index vectors of dynamic-slice and dynamic-update-slice."""
    first = 1 if root.opcode == "dynamic-slice" else 2
    if len(xs) == first or xs[first].shape.rank != 1:
        return None
    vector = xs[first]
    scalars = [to_dims(cut(vector, 0, i, i + 1), ()) for i in range(vector.shape.dims[0])]
    # A scalar has nowhere to start: it is its own slice, and the update replaces it whole.
    if not scalars:
        return xs[first - 1]
    return root.with_(operands=(*xs[:first], *scalars))
