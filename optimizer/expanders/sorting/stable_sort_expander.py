"""Makes stable sorts of sorts that need not be stable: a number for each element decides ties.

    s = f32[8] sort(x), is_stable=true, to_apply=less

    t = (f32[8], s32[8]) sort(x, iota), to_apply=less_or_first
    s = f32[8] get-tuple-element(t), index=0

where less_or_first(a, b, i, j) = select(less(a, b) == less(b, a), i < j, less(a, b)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Sort
from hlo.types.element_type import S32, S64
from hlo.types.shape import array
from optimizer.calls.clone import inlined
from optimizer.expanders.op_expander import ExpansionSite, elements, expander
from optimizer.expanders.parts import counting
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("stable-sort-expander", "sort", xla="xla/service/stable_sort_expander.cc")
def numbered_sort(site: ExpansionSite) -> Instruction | None:
    """Replaces stable sorts by sorts of elements that are never equal."""
    instr, attrs = site.instr, Sort.of(site.instr)
    if not attrs.is_stable:
        return None
    (dim,), (comparator,) = attrs.dimensions, instr.called
    dims = instr.operands[0].shape.dims
    # XLA counts in s32 while the numbers fit.
    kind = S32 if dims[dim] < 2**31 else S64

    def before(*scalars: Instruction) -> Instruction:
        *given, i, j = scalars
        swapped = [given[n ^ 1] for n in range(len(given))]
        less = inlined(comparator, given, site.names)
        more = inlined(comparator, swapped, site.names)
        same = make("compare", less, more, direction="EQ")
        return make("select", same, make("compare", i, j, direction="LT"), less)

    shapes = [p.shape for p in comparator.parameters] + [array(kind)] * 2
    made = make(
        "sort",
        *instr.operands,
        counting(kind, dims, dim),
        dimensions=attrs.dimensions,
        called=(site.computation(comparator.name, shapes, before),),
    )
    first = elements(made)[:-1]
    return first[0] if len(first) == 1 else make("tuple", *first)
