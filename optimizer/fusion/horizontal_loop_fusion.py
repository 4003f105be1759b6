"""Puts small kernels that have nothing to do with each other into one, one after the other.

a = f32[4] negate(x)               f = (f32[4], f32[6]) fusion(x, y), where
b = f32[2,3] exponential(y)   =>     c = f32[10] concatenate(negate(x), reshape(exponential(y)))
t = tuple(a, b)                      root = tuple(slice(c, [0:4]), slice(c, [4:10]))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.types.shape import array
from hlo.types.values import SliceDim
from optimizer.fusion.build import fused
from optimizer.fusion.multi_output_fusion import as_fusion
from optimizer.fusion.policy import FOLDS
from optimizer.fusion.side_by_side import fuse_side_by_side
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Collection

    from hlo.instruction import Instruction, Module
    from hlo.names import NameSupply
    from hlo.types.element_type import ElementType
    from optimizer.fusion.merged import MergedKernel
    from optimizer.log import Log

# Elements of a kernel that is worth to be run beside others.
_SMALL = 1 << 16


@register
@dataclass(frozen=True)
class HorizontalLoopFusion:
    """Horizontal fusion of the small kernels that one instruction needs.

    Attributes
    ----------
    most : kernels that become one.
    """

    name = "horizontal-loop-fusion"
    xla = "xla/service/gpu/transforms/horizontal_loop_fusion.cc"
    most: int = 32

    def run(self, module: Module, log: Log) -> Module:
        """The module with fewer kernels."""
        return fuse_side_by_side(module, log, _element_type, _concatenated, self.most)


def _element_type(kernel: MergedKernel) -> ElementType | None:
    """The type in which small kernels without folds can be concatenated."""
    shape = kernel.parts[0].shape
    folds = any(member.opcode in FOLDS for member in kernel.members)
    in_rows = shape == shape.with_default_layout()
    return None if folds or shape.size > _SMALL or not in_rows else shape.element_type


def _concatenated(
    kernel: MergedKernel, names: NameSupply, kept_names: Collection[str]
) -> tuple[Instruction, dict[Instruction, Instruction]]:
    """Kernels as one fusion, and the replacements of their values."""
    outputs = kernel.outputs
    if len(outputs) == 1:
        return as_fusion(kernel, names, kept_names)  # they computed the same
    rows = [o if o.shape.rank == 1 else _reshaped(o, (o.shape.size,)) for o in outputs]
    whole = make("concatenate", *rows, dimensions=(0,))
    slices: list[Instruction] = []
    start = 0
    for row in rows:
        limit = start + row.shape.size
        slices.append(make("slice", whole, slice=(SliceDim(start, limit),)))
        start = limit
    added = [row for row in rows if row not in outputs]
    named = {member for member in kernel.members if member.name in kept_names}
    fusion = fused([*kernel.members, *added, whole, *slices], slices, names, named, "kInput")
    values: dict[Instruction, Instruction] = {}
    for instr, member in kernel.values.items():
        flat = instr.shape.rank == 1
        # A sharding is of the dimensions that there are.
        notes = instr.annotations if flat else replace(instr.annotations, sharding=None)
        element = make("get-tuple-element", fusion, index=outputs.index(member)).with_(
            name=names.unique("get-tuple-element"), annotations=notes
        )
        values[instr] = element
        if not flat:
            # It takes the bytes as they lie: other passes would say so later.
            values[instr] = make("bitcast", element, shape=instr.shape).with_(
                name=names.unique("bitcast"), annotations=instr.annotations
            )
    return fusion, values


def _reshaped(instr: Instruction, dims: tuple[int, ...]) -> Instruction:
    return make("reshape", instr, shape=array(instr.shape.element_type, dims))
