"""Brings the contracting dimensions of a dot into the order in which memory has them.

lhs_contracting_dims={1,0}, rhs_contracting_dims={2,1}   =>   {0,1} and {1,2}

The sum has the same terms. In that order they become one dimension without a transpose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "dot_dimension_sorter",
    "dot",
    promise=ROUNDING,
    xla="xla/service/gpu/transforms/dot_dimension_sorter.cc",
)
def sort_contracting(site: ExpansionSite) -> Instruction | None:
    """Sorts contracting dimensions that are neighbours.

    The dot with its contracting dimensions sorted by those of one operand, in pairs.

    None if that does not help: because they are sorted, because no operand has them in one piece,
    or because the other operand has, and in order already.
    """
    attrs = DotDims.of(site.instr)
    sides = (attrs.lhs_contracting_dims, attrs.rhs_contracting_dims)
    in_one_piece = [side for side in sides if are_neighbours(side)]
    if not in_one_piece or any(list(side) == sorted(side) for side in in_one_piece):
        return None
    key = in_one_piece[0]
    order = sorted(range(len(key)), key=key.__getitem__)
    lhs, rhs = (tuple(side[i] for i in order) for side in sides)
    return site.instr.with_(
        attrs=replace(attrs, lhs_contracting_dims=lhs, rhs_contracting_dims=rhs)
    )


def are_neighbours(dims: tuple[int, ...]) -> bool:
    """Whether dimensions follow each other, in some order."""
    return bool(dims) and max(dims) - min(dims) + 1 == len(dims)
