"""Gives dynamic slices their start as scalars, one a dimension, instead of one vector.

dynamic-slice(x, s32[2] v)   =>   dynamic-slice(x, v[0], v[1])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import Site, expand
from optimizer.expanders.parts import cut, to_dims
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class DynamicIndexSplitter:
    """Splits the index vectors of dynamic-slice and dynamic-update-slice.

    References
    ----------
    XLA, `xla/service/dynamic_index_splitter.cc`.
    """

    name = "dynamic-index-splitter"

    def run(self, module: Module, log: Log) -> Module:
        """The module in which dynamic slices start at scalars."""
        splits = {"dynamic-slice": split_index, "dynamic-update-slice": split_index}
        return expand(module, log, splits)


def split_index(site: Site) -> Instruction | None:
    """The same slice, with a scalar for each element of the index vector."""
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
