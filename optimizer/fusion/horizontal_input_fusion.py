"""Puts folds over arrays of the same dimensions into one kernel, even if they share no array.

s = f32[8] reduce(x, zero)                 f = (f32[8], f32[8]) fusion(x, y)
q = f32[8] reduce(negate(y), zero)    =>   s, q = its elements
t = tuple(s, q)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.fusion.multi_output_fusion import as_fusion
from optimizer.fusion.nest import nest_of
from optimizer.fusion.policy import GPU
from optimizer.fusion.side_by_side import fuse_side_by_side
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Hashable

    from hlo.instruction import Module
    from optimizer.fusion.merged import MergedKernel
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class HorizontalInputFusion:
    """Horizontal fusion of folds."""

    name = "horizontal-input-fusion"
    xla = "xla/service/gpu/transforms/horizontal_input_fusion.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with fewer kernels."""
        return fuse_side_by_side(module, log, _loops, as_fusion, GPU.results)


def _loops(kernel: MergedKernel) -> Hashable:
    """The trip counts of a reduction's loops; None for other kernels."""
    nest = nest_of(kernel.members, kernel.outputs)
    if isinstance(nest, str) or kernel.outputs[0].opcode != "reduce":
        return None
    sizes = (nest.digits.size(d) for d in nest.order)
    return tuple((size, d in nest.kept) for size, d in zip(sizes, nest.order, strict=True))
