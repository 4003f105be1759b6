"""Finds the k largest or smallest elements by sorting all of them.

topk(x), k=2   =>   sort(x, iota), then the first two of both

The sort is stable, and the indices rise at the start, so equal elements come by rising index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import TopK
from hlo.types.element_type import S32
from hlo.types.shape import array
from optimizer.expanders.op_expander import ExpansionSite, elements, expander
from optimizer.expanders.parts import counting, cut
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("topk-decomposer", "topk", xla="xla/service/topk_rewriter.cc, class TopkDecomposer")
def sort_and_slice(site: ExpansionSite, *, most_kept: int = 0) -> Instruction | None:
    """Replaces topk by sort and slice.

    The option is the k up to which a topk of elements of up to 32 bits is left as it is.
    """
    (x,) = site.instr.operands
    if TopK.of(site.instr).k <= most_kept and x.shape.element_type.bits <= 32:
        return None
    return first_of_sorted(site, x, counting(S32, x.shape.dims, x.shape.rank - 1))


def first_of_sorted(site: ExpansionSite, values: Instruction, indices: Instruction) -> Instruction:
    """The first values of sorted rows, as many as a topk takes, together with their indices."""
    attrs, element_type = TopK.of(site.instr), values.shape.element_type
    axis = values.shape.rank - 1
    direction = "GT" if attrs.largest else "LT"
    kind = "TOTALORDER" if element_type.is_floating else ""

    def before(x: Instruction, y: Instruction, _i: Instruction, _j: Instruction) -> Instruction:
        return make("compare", x, y, direction=direction, type=kind)

    scalars = [array(element_type)] * 2 + [array(S32)] * 2
    comparator = site.computation("before", scalars, before)
    ordered = make(
        "sort", values, indices, dimensions=(axis,), is_stable=True, called=(comparator,)
    )
    return make("tuple", *(cut(element, axis, 0, attrs.k) for element in elements(ordered)))
