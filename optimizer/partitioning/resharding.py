"""The cheapest way from one cut of an array to another one, by the bytes that devices receive.

    {devices=[8,1]<=[8]} to {devices=[1,8]<=[8]}            all-to-all
    {devices=[2,4]<=[8]} to {devices=[2,4]<=[4,2]T(1,0)}    collective-permute
    {devices=[2,1,4]<=[8] last_tile_dim_replicate} to {devices=[8,1]<=[8]}      a slice
    {devices=[8,1]<=[8]} to {replicated}                    all-gather

Cuts are the nodes of a graph, and a step leads from one to another: Dijkstra's algorithm.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from math import prod
from typing import TYPE_CHECKING

from optimizer.partitioning.communication import alone, part_of, placed
from optimizer.partitioning.cuts import ArrayCut, CutAxis, combined, rest, split
from optimizer.partitioning.exchange import planned, rounds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Instruction
    from optimizer.partitioning.communication import Network

    _Dims = tuple[int, ...]
# A collective takes as long as so many elements more: many small ones are worse than a large one.
ELEMENTS_A_COLLECTIVE = 16
# So many cuts are looked at: those of few dimensions are never that many.
_MOST_CUTS = 400


@dataclass(frozen=True, slots=True)
class ReshardingStep:
    """One step: the kind, the cuts before and after, and what it moves.

    Attributes
    ----------
    opcode : of the collective; "slice", "alone" and "place" for none, "exchange" for several.
    elements : that each device receives.
    collectives : how many there are.
    dims : the dimensions that change: from where and to where, or the same one twice.
    axis : of an all-to-all, the axis that moves; of summands, that along which they lie.
    """

    opcode: str
    before: ArrayCut
    after: ArrayCut
    elements: int
    dims: tuple[int, int] = (0, 0)
    axis: CutAxis | None = None
    collectives: int = 1

    @property
    def cost(self) -> int:
        """The elements that it counts as, to choose between ways."""
        if self.opcode in ("slice", "alone", "place"):
            return 0
        return self.elements + ELEMENTS_A_COLLECTIVE * self.collectives

    def run(self, network: Network, part: Instruction, dims: _Dims) -> Instruction:
        """The part after the step.

        Parameters
        ----------
        dims : of the whole array.
        """
        source, _ = self.dims
        sizes, axis = _local(self.after, dims), self.axis
        match self.opcode:
            case "slice":
                pairs = zip(self.after.dims, self.before.dims, strict=True)
                finer = (rest(a, b) for a, b in pairs)
                part = part_of(part, [axes[0] if axes else None for axes in finer])
            case "all-reduce":
                part = network.added(part, self.before)
            case "alone" if axis:
                part = alone(part, axis)
            case "place" if axis:
                part = placed(part, source, axis, sizes[source])
            case "all-gather":
                coarse = self.after.dims[source]
                part = network.gathered(part, self.before, source, coarse, sizes[source])
            case "all-to-all" if axis:
                part = network.turned(part, self.before, self.dims, axis, sizes)
            case "collective-permute":
                part = network.permuted_blocks(part, rounds_of(self.before, self.after))
            case _:
                window = _window(self.after, source, dims)
                plan = planned(self.before, source, dims[source], *window)
                assert plan, "an exchange that was planned"
                part = network.exchanged(part, source, plan)
        return part


@dataclass(frozen=True, slots=True)
class Way:
    """Steps from one cut to another.

    Attributes
    ----------
    cost : in elements that a device receives, those that stand for collectives included.
    """

    steps: tuple[ReshardingStep, ...]
    cost: int

    def run(self, network: Network, part: Instruction, dims: _Dims) -> Instruction:
        """The part after all steps."""
        for step in self.steps:
            part = step.run(network, part, dims)
        return part


@lru_cache(8192)
def way(before: ArrayCut, after: ArrayCut, dims: _Dims) -> Way:
    """The way on which a device receives fewest elements, then that of fewest steps.

    Parameters
    ----------
    dims : of the whole array.
    """
    if before.is_whole or not before.manual:
        before = replace(before, manual=after.manual)
    after = replace(after, manual=before.manual)
    if before.summed != after.summed:
        return _way_of_summands(before, after, dims)
    order = count()
    queue: list[tuple[int, int, int, ArrayCut, tuple[ReshardingStep, ...]]] = [
        (0, 0, next(order), before, ())
    ]
    done: set[ArrayCut] = set()
    while queue:
        spent, length, _, cut, steps = heapq.heappop(queue)
        if cut == after:
            return Way(steps, spent)
        if cut in done:
            continue
        done.add(cut)
        sequence = (
            _steps(cut, after, dims) if len(done) < _MOST_CUTS else _last_steps(cut, after, dims)
        )
        for step in sequence:
            if step.after not in done:
                entry = (spent + step.cost, length + 1, next(order), step.after)
                heapq.heappush(queue, (*entry, (*steps, step)))
    raise AssertionError("a whole array can be cut in any way")


def _way_of_summands(before: ArrayCut, after: ArrayCut, dims: _Dims) -> Way:
    """The way from summands to their sum, and to other summands."""
    if before.summed:
        elements = prod(_local(before, dims))
        first = ReshardingStep("all-reduce", before, before.reduced, elements)
        there = way(before.reduced, after, dims)
        return Way((first, *there.steps), first.cost + there.cost)
    assert after.summed
    for d, axis in enumerate(before.dims):
        if axis and axis.count == after.summed.count and axis.blocks == after.summed.blocks:
            middle = replace(before.with_dim(d, None), summed=after.summed)
            there = way(middle, after, dims)
            first = ReshardingStep("place", before, middle, 0, (d, d), axis)
            return Way((first, *there.steps), there.cost)
    there = way(before, after.reduced, dims)
    last = ReshardingStep("alone", after.reduced, after, 0, axis=after.summed)
    return Way((*there.steps, last), there.cost)


def _local(cut: ArrayCut, dims: _Dims) -> _Dims:
    return tuple(-(-size // n) for size, n in zip(dims, cut.counts, strict=True))


def _window(after: ArrayCut, dim: int, dims: _Dims) -> tuple[tuple[int, ...], int]:
    """The first row of each device's block, and the blocks' size."""
    axis, size = after.dims[dim], _local(after, dims)[dim]
    assert axis, "a dimension that is cut"
    return tuple(place * size for place in axis.places), size


def nested(fine: CutAxis | None, coarse: CutAxis | None, size: int) -> bool:
    """Whether each block of one axis is cut into blocks of another one."""
    if rest(fine, coarse) is None:
        return False
    if coarse is None or fine is None:
        return True
    inner = fine.count // coarse.count
    return -(-size // fine.count) * inner == -(-size // coarse.count)


def _steps(cut: ArrayCut, goal: ArrayCut, dims: _Dims) -> Iterator[ReshardingStep]:
    yield from _slices(cut, goal, dims)
    yield from _gathers(cut, goal, dims)
    yield from _turns(cut, goal, dims)
    yield from _permutes(cut, goal, dims)
    yield from _exchanges(cut, goal, dims)


def _last_steps(cut: ArrayCut, goal: ArrayCut, dims: _Dims) -> Iterator[ReshardingStep]:
    """Steps that end soon: over the whole array."""
    yield from _slices(cut, goal, dims)
    yield from _gathers(cut, goal.without(range(len(dims))), dims)


def _slices(cut: ArrayCut, goal: ArrayCut, dims: _Dims) -> Iterator[ReshardingStep]:
    after = cut
    for d, size in enumerate(dims):
        if cut.dims[d] != goal.dims[d] and nested(goal.dims[d], cut.dims[d], size):
            finer_cut = after.with_dim(d, goal.dims[d])
            after = finer_cut if finer_cut.is_possible else after
            alone = cut.with_dim(d, goal.dims[d])
            if alone.is_possible:
                yield ReshardingStep("slice", cut, alone, 0, (d, d))
    if after != cut:
        yield ReshardingStep("slice", cut, after, 0)


def _gathers(cut: ArrayCut, goal: ArrayCut, dims: _Dims) -> Iterator[ReshardingStep]:
    elements = prod(_local(cut, dims))
    for d, axis in enumerate(cut.dims):
        if axis is None or axis == goal.dims[d]:
            continue
        yield ReshardingStep(
            "all-gather", cut, cut.with_dim(d, None), elements * axis.count, (d, d)
        )
        coarse = goal.dims[d]
        if coarse and nested(axis, coarse, dims[d]):
            inner = axis.count // coarse.count
            yield ReshardingStep(
                "all-gather", cut, cut.with_dim(d, coarse), elements * inner, (d, d)
            )


def _turns(cut: ArrayCut, goal: ArrayCut, dims: _Dims) -> Iterator[ReshardingStep]:
    local = _local(cut, dims)
    for d, axis in enumerate(cut.dims):
        if axis is None or axis == goal.dims[d]:
            continue
        inner = {axis.count}
        if (aim := goal.dims[d]) and axis.count % aim.count == 0:
            inner.add(axis.count // aim.count)
        inner |= {
            g.count for g in goal.dims if g and g.count < axis.count and axis.count % g.count == 0
        }
        for n in sorted(inner):
            left, moving = split(axis, n)
            if moving is None or (left and not nested(axis, left, dims[d])):
                continue
            for e, aim in enumerate(goal.dims):
                if e == d or aim is None or aim == cut.dims[e]:
                    continue
                there = combined(cut.dims[e], moving)
                if there is None or aim.count % there.count:
                    continue
                if cut.dims[e] and not nested(there, cut.dims[e], dims[e]):
                    continue
                after = cut.with_dim(d, left).with_dim(e, there)
                size = -(-dims[e] // there.count) * n
                elements = prod(local) // max(local[e], 1) * size
                yield ReshardingStep("all-to-all", cut, after, elements, (d, e), moving)


def _permutes(cut: ArrayCut, goal: ArrayCut, dims: _Dims) -> Iterator[ReshardingStep]:
    elements = prod(_local(cut, dims))
    after = cut
    for d, (here, there) in enumerate(zip(cut.dims, goal.dims, strict=True)):
        if here and there and here != there and here.count == there.count:
            after = after.with_dim(d, there)
            alone = cut.with_dim(d, there)
            if alone.is_possible:
                yield _permute(cut, alone, elements)
    if after != cut and after.is_possible:
        yield _permute(cut, after, elements)


def _permute(cut: ArrayCut, after: ArrayCut, elements: int) -> ReshardingStep:
    rounds = len(rounds_of(cut, after))
    return ReshardingStep("collective-permute", cut, after, elements * rounds, collectives=rounds)


def _exchanges(cut: ArrayCut, goal: ArrayCut, dims: _Dims) -> Iterator[ReshardingStep]:
    local = _local(cut, dims)
    for d, (here, there) in enumerate(zip(cut.dims, goal.dims, strict=True)):
        if here and there and here != there:
            after = cut.with_dim(d, there)
            if not after.is_possible:
                continue
            plan = planned(cut, d, dims[d], *_window(after, d, dims))
            if plan:
                elements = prod(local) // max(local[d], 1) * plan.rows
                yield ReshardingStep(
                    "exchange", cut, after, elements, (d, d), collectives=plan.collectives
                )
