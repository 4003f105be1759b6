"""Concatenations along a dimension that is cut: each device takes its rows of the result.

    y = f32[16] concatenate(a, b)    =>  device p gets the rows of a and of b that its rows of y are

Of every operand it takes a window (`windows`), and chooses between them by the rows' places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import S32
from hlo.types.shape import array
from optimizer.expanders.parts import less
from optimizer.partitioning.communication import looked_up
from optimizer.partitioning.division import (
    STRATEGIES,
    DivisionSite,
    FactorPlan,
    Strategy,
    piece_of,
    rewritten,
)
from optimizer.partitioning.sharding_rules import PASS_THROUGH, PERMUTATION, Factor
from optimizer.partitioning.windows import (
    Window,
    array_of,
    blocks,
    rows_moved,
    source_cut,
    source_of,
    taken,
)
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.partitioning.cuts import ArrayCut, CutAxis


def _joined_windows(site: DivisionSite, plan: FactorPlan, dim: int, axis: CutAxis) -> list[Window]:
    """The window of each operand; one for all, where the result is an operand that is turned."""
    count = len(site.instr.operands)
    sources = [source_of(site, n, dim) for n in range(count)]
    sizes = [o.shape.dims[dim] for o in site.instr.operands]
    starts, block = blocks(axis, sum(sizes))
    if count == 2 and sources[0].held is sources[1].held and not sources[0].fill:
        (one, other), held = sources, sources[0].held
        extent = held.shape.dims[dim]
        turned = other.first == 0 and one.first == sizes[1] and sum(sizes) == extent
        window = Window(0, dim, tuple(s + one.first for s in starts), block, None, 1, True, held)
        before = source_cut(held, plan.operand(site, 0), [window]).dims[dim]
        even = extent % axis.count == 0 and (before is None or extent % before.count == 0)
        if turned and not other.fill and even:
            return [window]
    offset, windows = 0, list[Window]()
    for n, (source, size) in enumerate(zip(sources, sizes, strict=True)):
        begins = tuple(start - offset + source.first for start in starts)
        windows.append(Window(n, dim, begins, block, source.fill, held=source.held))
        offset += size
    return windows


def _along(plan: FactorPlan) -> tuple[int, CutAxis] | None:
    """The dimension along which a concatenation is cut, and its axis."""
    for factor, axis in plan.cutting(PERMUTATION):
        assert factor.results[0] is not None, "a dimension of the result"
        return factor.results[0], axis
    return None


def _joins(site: DivisionSite, factor: Factor, axis: CutAxis) -> bool:
    return factor.kind == PASS_THROUGH or axis.count <= site.results[0].dims[factor.results[0] or 0]


def _join_moved(site: DivisionSite, plan: FactorPlan) -> int:
    axis = _along(plan)
    if axis is None:
        return 0
    spent = 0
    for window in _joined_windows(site, plan, *axis):
        held, cut = array_of(site, [window]), plan.operand(site, window.operand)
        spent += held.price(source_cut(held, cut, [window])) + rows_moved(held, cut, [window])
    return spent


def _join_operand(site: DivisionSite, plan: FactorPlan, number: int) -> ArrayCut:
    """Operands of a concatenation that is cut are paid for in `_join_moved`."""
    return site.operand(number).cut if _along(plan) else plan.operand(site, number)


def _join(site: DivisionSite, plan: FactorPlan) -> Instruction:
    pair = _along(plan)
    if pair is None:
        return rewritten(site, plan, [
            piece_of(site, plan, n) for n in range(len(site.instr.operands))
        ])  # fmt: skip
    dim, axis = pair
    windows = _joined_windows(site, plan, dim, axis)
    rows = [taken(site, array_of(site, [w]), plan.operand(site, w.operand), [w]) for w in windows]
    result = rows[-1]
    if len(rows) == 1:
        return make("copy", result)
    starts, _ = blocks(axis, site.results[0].dims[dim])
    dims = result.shape.dims
    start = make("broadcast", looked_up(starts), shape=array(S32, dims), dimensions=())
    index = make("add", make("iota", shape=array(S32, dims), iota_dimension=dim), start)
    ends, end = list[int](), 0
    for operand in site.instr.operands[:-1]:
        end += operand.shape.dims[dim]
        ends.append(end)
    for row, limit in zip(rows[-2::-1], reversed(ends), strict=True):
        result = make("select", less(index, limit), row, result)
    return result


STRATEGIES["concatenate"] = Strategy(_joins, _join_moved, _join, _join_operand)
