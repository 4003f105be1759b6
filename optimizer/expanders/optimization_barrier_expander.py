"""Removes optimization barriers, once no pass is left that they should hold back.

opt-barrier(x)   =>   x
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.rewriting.pattern import opt_barrier, x

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "cse_barrier_expander",
    opt_barrier(x),
    xla="xla/hlo/transforms/expanders/optimization_barrier_expander.cc",
)
def remove_barrier(x: Instruction) -> Instruction:
    """Replaces barriers by their operands. Only for the end of a pipeline."""
    return x
