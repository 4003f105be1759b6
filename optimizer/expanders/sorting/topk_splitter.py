"""Finds the k largest or smallest elements of a long row in two stages.

topk(x), k=2   =>   the first two of each of the parts of x; of these, the first two

A part may fit where a row does not: into the shared memory of a block.
Of equal elements the ones of earlier parts come first, and inside of a part those of lower indices,
so that the second sort, which is stable, leaves equal elements by rising index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import TopK
from hlo.types.element_type import S32
from optimizer.expanders.op_expander import ExpansionSite, elements, expander
from optimizer.expanders.parts import counting, full, to_dims
from optimizer.expanders.sorting.topk_decomposer import first_of_sorted
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("topk-splitter", "topk", xla="xla/service/gpu/transforms/topk_splitter.cc")
def split(site: ExpansionSite, *, split_threshold: int = 4096) -> Instruction | None:
    """Replaces topk of long rows by topk of their parts, and sort and slice of their results.

    The option is the number of elements of 4 bytes that a part has at most.
    """
    operand, attrs = site.instr.operands[0], TopK.of(site.instr)
    *others, n = operand.shape.dims
    most = split_threshold * 4 // max(4, operand.shape.element_type.bytes)
    parts = next((p for p in range(-(-n // most), most // max(attrs.k, 1) + 1) if n % p == 0), 0)
    if parts < 2:
        return None
    divided = to_dims(operand, (*others, parts, n // parts))
    top = make("topk", divided, k=attrs.k, largest=attrs.largest)
    values, indices = elements(top)
    begin = make(
        "multiply",
        counting(S32, indices.shape.dims, len(others)),
        full(n // parts, indices),
    )
    few = (*others, parts * attrs.k)
    return first_of_sorted(site, to_dims(values, few), to_dims(make("add", indices, begin), few))
