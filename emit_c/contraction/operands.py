"""The operands of a dot product, with their dimensions by what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.indexing import Sum
from emit_c.code.types import wide
from emit_c.opcodes.scalar import converted
from hlo.types.element_type import ELEMENT_TYPES, element_type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr
    from codegen.indexing import Index
    from emit_c.kernels.body import Body
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType


def product_type(instr: Instruction) -> ElementType:
    """The type in which products are summed up, of a dot product or a convolution.

    It is the result's wide type, but no narrower than the operands' wide types for floats; sums of
    floats are turned into integers when they are complete.
    """
    result = ELEMENT_TYPES[wide(instr.shape.element_type)]
    operands = [ELEMENT_TYPES[wide(o.shape.element_type)] for o in instr.operands[:2]]
    whole = result.is_integer or result.kind == "pred"
    if whole and not any(o.is_floating for o in operands):
        return result
    kinds = [o.dtype for o in operands] + ([] if whole else [result.dtype])
    found = element_type_of(np.result_type(*kinds))
    assert found is not None
    return found


def element_as(body: Body, operand: Instruction, at: Index, kind: ElementType) -> Expr:
    """An element of an operand, in the type in which products are summed up."""
    source, value = operand.shape.element_type, body.element(operand, at)
    return value if wide(source) == wide(kind) else converted(value, source, kind)


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a dot product: dimensions of the batch, those that are contracted, others."""

    instr: Instruction
    batch: tuple[int, ...]
    contracting: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        """The dimensions that only this operand has."""
        used = {*self.batch, *self.contracting}
        return tuple(d for d in range(self.instr.shape.rank) if d not in used)

    @property
    def count(self) -> int:
        """Elements of the free dimensions."""
        return prod(self.sizes(self.free))

    @property
    def depth(self) -> int:
        """Elements of the contracted dimensions."""
        return prod(self.sizes(self.contracting))

    def sizes(self, dims: Sequence[int]) -> list[int]:
        """Of some dimensions."""
        return [self.instr.shape.dims[d] for d in dims]

    def index(self, batch: Index, free: Index, contracted: Index) -> Index:
        """The index of an element."""
        at = [Sum(0)] * self.instr.shape.rank
        roles = ((self.batch, batch), (self.free, free), (self.contracting, contracted))
        for dims, parts in roles:
            for d, part in zip(dims, parts, strict=True):
                at[d] = part
        return tuple(at)


def operands_of(instr: Instruction) -> tuple[Operand, Operand]:
    """Both operands of a dot product; the result has their batch, then free dimensions of each."""
    attrs: a.DotDims = instr.attrs  # type: ignore[assignment]
    lhs, rhs = instr.operands
    left = Operand(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    return left, Operand(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
