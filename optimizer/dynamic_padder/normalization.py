"""Batch normalization of values with run-time sizes: what does not count is in no mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.names import NameSupply
from optimizer.dynamic_padder.rules import common, elements, rule, unruled
from optimizer.dynamic_padder.values import Padded, Tree, static
from optimizer.expanders.linear_algebra.batchnorm_expander import (
    Features,
    gradient,
    inference,
    training,
)
from optimizer.expanders.op_expander import ExpansionSite
from optimizer.expanders.parts import number, spread, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.dynamic_padder.rules import Sizes

EXPANSIONS = {
    "batch-norm-inference": inference,
    "batch-norm-training": training,
    "batch-norm-grad": gradient,
}


@rule(*EXPANSIONS)
def batch_norm(instr: Instruction, *operands: Padded) -> Tree:
    """The array has the operand's sizes; statistics have those of the features."""
    rank = operands[0].value.shape.rank
    sizes = common([o for o in operands if o.value.shape.rank == rank])
    if not sizes:
        return unruled(instr, *operands)
    values = tuple(o.value for o in operands)
    site = ExpansionSite(instr.with_(operands=values, shape=static(instr.shape)), NameSupply())
    features = Counted(site, sizes)
    normalized = elements(EXPANSIONS[instr.opcode](site, features))
    if isinstance(normalized, Padded):
        return Padded(normalized.value, sizes)
    whole, *others = normalized
    index = features.attrs.feature_index
    left = {0: sizes[index]} if index in sizes else {}
    return Padded(whole.value, sizes), *(Padded(other.value, left) for other in others)


class Counted(Features):
    """An array of which not all elements count.

    Parameters
    ----------
    sizes : by dimension, how many do.
    """

    def __init__(self, site: ExpansionSite, sizes: Sizes) -> None:
        super().__init__(site)
        self.sizes = sizes

    def total(self, x: Instruction) -> Instruction:
        """The sum of each feature."""
        return super().total(Padded(x, self.sizes).zeroed(self.others))

    def average(self, total: Instruction) -> Instruction:
        """Sums of features over how many elements each has."""
        count = number(1)
        for d in self.others:
            count = make("multiply", count, self.sizes.get(d) or number(self.dims[d]))
        count = to_type(count, total.shape.element_type)
        return make("divide", total, spread(count, total.shape.dims))
