"""Splits select-and-scatter: a windowed argmax finds the places, a scatter writes to them.

select-and-scatter(x, source, init)
    =>   scatter(broadcast(init), reduce-window(iota 0, iota 1, ..., x), source)

The window folds elements together with where they are. Where the fold starts, and in the padding,
there is no element: the place is -1 there. A window without elements has the place -1 in the end,
which no scatter writes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Windowed
from hlo.types.element_type import S32
from hlo.types.shape import array
from optimizer.calls.clone import inlined
from optimizer.expanders.op_expander import ExpansionSite, elements, expander
from optimizer.expanders.parts import counting, joined, less, number, spread, to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


@expander(
    "select_and_scatter_expander",
    "select-and-scatter",
    xla="xla/service/select_and_scatter_expander.cc",
)
def find_and_scatter(site: ExpansionSite) -> Instruction | None:
    """Replaces select-and-scatter by reduce-window and scatter."""
    operand, source, initial = site.instr.operands
    window = Windowed.of(site.instr).window
    rank, dims = operand.shape.rank, operand.shape.dims
    if not rank:
        return None
    iotas = [counting(S32, dims, axis) for axis in range(rank)]
    arrays = [*iotas, operand]
    starts = [number(-1)] * rank + [number(0, operand.shape.element_type)]
    found = make("reduce-window", *arrays, *starts, window=window, called=(chooser(site, rank),))
    rows = [to_dims(place, (*place.shape.dims, 1)) for place in elements(found)[:rank]]
    return make(
        "scatter",
        spread(initial, dims),
        joined(rows, rank),
        source,
        update_window_dims=(),
        inserted_window_dims=tuple(range(rank)),
        scatter_dims_to_operand_dims=tuple(range(rank)),
        index_vector_dim=rank,
        called=(site.instr.called[1],),
    )


def chooser(site: ExpansionSite, rank: int) -> Computation:
    """Of two elements with their places, the one that stays selected."""
    scalars = [*[array(S32)] * rank, array(site.instr.operands[0].shape.element_type)]

    def choose(*values: Instruction) -> Instruction:
        kept, new = values[: rank + 1], values[rank + 1 :]
        no_kept, no_new = less(kept[0], 0), less(new[0], 0)
        stays = inlined(site.instr.called[0], [kept[-1], new[-1]], site.names)
        keep = make("and", make("not", no_kept), make("or", no_new, stays))
        pairs = zip(kept, new, strict=True)
        return make("tuple", *(make("select", keep, old, other) for old, other in pairs))

    return site.computation("choose", [*scalars, *scalars], choose)
