"""The operands of a dot product, with their dimensions by role: batch, free or contracted."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from optimizer.analysis.indexing import Sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index


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
    attrs = a.DotDims.of(instr)
    lhs, rhs = instr.operands
    left = Operand(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    return left, Operand(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
