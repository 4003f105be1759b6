"""Writes a dot of operands that are scaled in blocks as a dot of scaled operands.

scaled-dot(x, y, sx, sy)   =>   dot(x * sx, y * sy), each scale repeated over its block

Elements and scales of all block formats have so few digits that their product is exact in f32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from hlo.attributes import DotDims
from hlo.types.element_type import F32, element_type_of
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import spread, to_dims, to_type, wide
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType


@expander(
    "scaled-dot-rewriter",
    "scaled-dot",
    promise=ROUNDING,
    xla="xla/service/gpu/transforms/scaled_dot_rewriter.cc",
    always=True,
)
def dot_of_scaled(site: ExpansionSite) -> Instruction:
    """Replaces scaled-dot by dot."""
    lhs, rhs, lhs_scale, rhs_scale = site.instr.operands
    attrs = DotDims.of(site.instr)
    return make(
        "dot",
        scaled(lhs, lhs_scale),
        scaled(rhs, rhs_scale),
        shape=site.instr.shape,
        lhs_batch_dims=attrs.lhs_batch_dims,
        rhs_batch_dims=attrs.rhs_batch_dims,
        lhs_contracting_dims=attrs.lhs_contracting_dims,
        rhs_contracting_dims=attrs.rhs_contracting_dims,
        operand_precision=attrs.operand_precision[:2],
        algorithm=attrs.algorithm,
    )


def scaled(operand: Instruction, scale: Instruction) -> Instruction:
    """An operand times its scales."""
    dims, factor, numbers = operand.shape.dims, floating(scale), floating(operand)
    common = np.result_type(factor.shape.element_type.dtype, numbers.shape.element_type.dtype)
    kind = cast("ElementType", element_type_of(common))
    factor, numbers = to_type(factor, kind), to_type(numbers, kind)
    if not scale.shape.rank:
        return make("multiply", numbers, spread(factor, dims))
    # Every dimension is split into blocks and indices in a block; the scale has the blocks.
    split: list[int] = []
    for n, blocks in zip(dims, scale.shape.dims, strict=True):
        split += [blocks, n // max(blocks, 1)]
    repeated = spread(factor, split, range(0, len(split), 2))
    return make("multiply", numbers, to_dims(repeated, dims))


def floating(x: Instruction) -> Instruction:
    """Integers as f32, other numbers in at least 32 bits."""
    kind = x.shape.element_type
    return wide(x) if kind.is_floating or kind.is_complex else to_type(x, F32)
