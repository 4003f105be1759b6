"""Splits select-and-scatter: a windowed argmax finds the indices, a scatter writes to them.

select-and-scatter(x, source, init)
    =>   scatter(broadcast(init), reduce-window(iota 0, iota 1, ..., x), source)

The window folds elements together with where they are. Where the fold starts, and in the padding,
there is no element: the index is -1 there. A window without elements has the index -1 in the end,
which no scatter writes to.

Where few windows contain an element, its value is computed from all of them: each window that
selected the element scatters a number to it. So threads write elements of their own, in order, and
neighbouring threads read neighbouring numbers.

    value = init;   for each window w that may show p:
        value = index(w) == p ? scatter(value, source(w)) : value
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import Windowed
from hlo.types.element_type import S32
from hlo.types.shape import array
from hlo.types.values import PaddingDim, SliceDim, WindowDim
from optimizer.calls.clone import inlined
from optimizer.expanders.op_expander import ExpansionSite, element, elements, expander
from optimizer.expanders.parts import counting, equal, joined, less, number, spread, to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction


@expander(
    "select_and_scatter_expander",
    "select-and-scatter",
    xla="xla/service/select_and_scatter_expander.cc",
)
def find_and_scatter(site: ExpansionSite, *, most_windows: int = 0) -> Instruction | None:
    """Replaces select-and-scatter by reduce-window and scatter.

    Options
    -------
    most_windows : that show an element, for which a scatter is replaced, too: each element looks at
        those windows.
    """
    operand, source, initial = site.instr.operands
    window = Windowed.of(site.instr).window
    rank, dims = operand.shape.rank, operand.shape.dims
    if not rank:
        return None
    if prod(map(_windows_at_once, window)) <= most_windows and _is_plain(operand, window):
        return find_and_look(site)
    iotas = [counting(S32, dims, axis) for axis in range(rank)]
    arrays = [*iotas, operand]
    starts = [number(-1)] * rank + [number(0, operand.shape.element_type)]
    windows = make("reduce-window", *arrays, *starts, window=window, called=(chooser(site, rank),))
    rows = [to_dims(index, (*index.shape.dims, 1)) for index in elements(windows)[:rank]]
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


def _windows_at_once(window: WindowDim) -> int:
    """The most windows that show one element, along a dimension."""
    return -(-window.size // window.stride)


def _is_plain(operand: Instruction, window: Sequence[WindowDim]) -> bool:
    """Whether windows show neighbours, of numbers that an s32 can be."""
    plain = all(
        w == WindowDim(w.size, w.stride, w.pad_low, w.pad_high) and min(w.pad_low, w.pad_high) >= 0
        for w in window
    )
    return plain and 0 < operand.shape.size < 1 << 31


def find_and_look(site: ExpansionSite) -> Instruction:
    """The form in which each element looks at the windows that may show it, in their order."""
    operand, source, initial = site.instr.operands
    window, dims = Windowed.of(site.instr).window, operand.shape.dims
    numbers = to_dims(counting(S32, (operand.shape.size,), 0), dims)
    nowhere, nothing = number(-1), number(0, operand.shape.element_type)
    windows = make(
        "reduce-window",
        *(numbers, operand, nowhere, nothing),
        window=window,
        called=(chooser(site, 1),),
    )
    result, chosen = spread(initial, dims), element(windows, 0)
    # The further back a window is, the earlier it comes.
    for back in product(*(range(_windows_at_once(w) - 1, -1, -1) for w in window)):
        value = _of_windows(source, initial, dims, window, back)
        combined = make(
            "map", result, value, dimensions=tuple(range(len(dims))), called=site.instr.called[1:]
        )
        is_chosen = equal(_of_windows(chosen, nowhere, dims, window, back), numbers)
        result = make("select", is_chosen, combined, result)
    return result


def _of_windows(
    x: Instruction,
    nothing: Instruction,
    dims: Sequence[int],
    window: Sequence[WindowDim],
    back: Sequence[int],
) -> Instruction:
    """For each element of an operand the value of a window that may show it.

    Parameters
    ----------
    x : a value for each window.
    nothing : the value of windows that do not exist.
    dims : the operand's.
    back : how many windows before the last one that may show the element.
    """
    counts = [-(-(w.pad_low + n) // w.stride) for w, n in zip(window, dims, strict=True)]
    padding = tuple(
        PaddingDim(k, count - n - k) for k, count, n in zip(back, counts, x.shape.dims, strict=True)
    )
    if any(p != PaddingDim(0, 0) for p in padding):
        x = make("pad", x, nothing, padding=padding)
    pairs = [(n, w.stride) for n, w in zip(counts, window, strict=True)]
    repeated = spread(x, [n for pair in pairs for n in pair], range(0, 2 * len(dims), 2))
    whole = to_dims(repeated, [n * stride for n, stride in pairs])
    begins = [w.pad_low for w in window]
    if whole.shape.dims == tuple(dims):
        return whole
    ranges = tuple(SliceDim(b, b + n) for b, n in zip(begins, dims, strict=True))
    return make("slice", whole, slice=ranges)


def chooser(site: ExpansionSite, rank: int) -> Computation:
    """Of two elements with their indices, the one that stays selected."""
    scalars = [*[array(S32)] * rank, array(site.instr.operands[0].shape.element_type)]

    def choose(*values: Instruction) -> Instruction:
        best, new = values[: rank + 1], values[rank + 1 :]
        no_kept, no_new = less(best[0], 0), less(new[0], 0)
        stays = inlined(site.instr.called[0], [best[-1], new[-1]], site.names)
        keep = make("and", make("not", no_kept), make("or", no_new, stays))
        pairs = zip(best, new, strict=True)
        return make("tuple", *(make("select", keep, old, other) for old, other in pairs))

    return site.computation("choose", [*scalars, *scalars], choose)
