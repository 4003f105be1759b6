"""Makes stable sorts of sorts that need not be stable: a number for each element decides ties.

    s = f32[8] sort(x), is_stable=true, to_apply=less

    t = (f32[8], s32[8]) sort(x, iota), to_apply=less_or_first
    s = f32[8] get-tuple-element(t), index=0

where less_or_first(a, b, i, j) = select(less(a, b) == less(b, a), i < j, less(a, b)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import S32, S64
from hlo.types.shape import array
from optimizer.calls.clone import inlined
from optimizer.expanders.op_expander import ExpansionSite, elements, expander
from optimizer.expanders.parts import counting
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import f, p, sort, xs

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply


@expander(
    "stable-sort-expander",
    sort(xs, dimensions=p, is_stable=True, to_apply=f),
    xla="xla/service/stable_sort_expander.cc",
)
def numbered_sort(
    root: Instruction,
    xs: tuple[Instruction, ...],
    p: tuple[int, ...],
    f: Computation,
    names: NameSupply,
) -> Instruction:
    """Replaces stable sorts by sorts of elements that are never equal."""
    (dim,), dims = p, xs[0].shape.dims
    # XLA counts in s32 while the numbers fit.
    kind = S32 if dims[dim] < 2**31 else S64

    def before(*scalars: Instruction) -> Instruction:
        *sides, i, j = scalars
        swapped = [sides[n ^ 1] for n in range(len(sides))]
        less = inlined(f, sides, names)
        more = inlined(f, swapped, names)
        same = make("compare", less, more, direction="EQ")
        return make("select", same, make("compare", i, j, direction="LT"), less)

    shapes = [p.shape for p in f.parameters] + [array(kind)] * 2
    ordered = make(
        "sort",
        *xs,
        counting(kind, dims, dim),
        dimensions=p,
        called=(ExpansionSite(root, names).computation(f.name, shapes, before),),
    )
    first = elements(ordered)[:-1]
    return first[0] if len(first) == 1 else make("tuple", *first)
