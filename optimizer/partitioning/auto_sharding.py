"""Chooses the shardings of a program's parameters, so that its step takes least time.

    x  = f32[512,1024] parameter(0), sharding={replicated}
    w1 = f32[1024,4096] parameter(1)                        =>   sharding={devices=[1,8]<=[8]}
    w2 = f32[4096,1024] parameter(2)                        =>   sharding={devices=[8,1]<=[8]}
    h = dot(x, w1)   t = tanh(h)   y = dot(t, w2)

That is Megatron's cut of a layer: columns of the first matrix and rows of the second, with one
all-reduce. No rule knows it. One cut at a time is tried of each parameter's dimensions,
`sharding-propagation` carries it on to all other arrays, the program is divided, and what each
device would run is simulated (`optimizer.topology`, as `hlo timeline --topology` shows it). The
best few are tried with a second cut, and so on until none is faster. Parameters that have a
sharding keep it.

References
----------
The search is that of PartIR: Alabed et al., *PartIR: Composing SPMD Partitioning Strategies for
Machine Learning*, 2024; the cut, Shoeybi et al., *Megatron-LM*, 2019. XLA's pass of this name
solves an integer linear program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo.sharded import with_sharding
from hlo.types.sharding import Sharding
from hlo.walk import rebuild, rebuild_module
from optimizer.partitioning.cuts import CutAxis, combined, sharding_of, whole
from optimizer.partitioning.spmd_partitioning import divided
from optimizer.passes import register
from optimizer.topology.fleet import fleet_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hlo.instruction import Instruction, Module
    from optimizer.log import Log
    from optimizer.partitioning.cuts import ArrayCut
    from optimizer.partitioning.spmd_partitioning import Division

    Choice = tuple[tuple[str, ArrayCut], ...]

# A guard against long searches: so many choices are extended by another cut each time.
_BEAM = 3
# A cut that saves less than this share of the time is not worth it.
_LEAST_GAIN = 0.001


@register
@dataclass(frozen=True)
class AutoSharding:
    """Chooses shardings for parameters that have none, so that a step takes the least time.

    Attributes
    ----------
    mesh : the numbers of devices along each axis of a mesh; () for one axis of all partitions.
    memory : bytes of parameters that a device has room for; 0 for any number.
    """

    mesh: tuple[int, ...] = ()
    memory: int = 0
    name = "auto-sharding"
    xla = "xla/hlo/experimental/auto_sharding/auto_sharding.cc, by another search"

    def run(self, module: Module, log: Log) -> Module:
        """The module with a sharding for each parameter, and for the result."""
        mesh = self.mesh or (module.header.num_partitions,)
        free = {p.name for p in module.entry.parameters if _is_free(p)}
        if prod(mesh) == 1 or not free:
            return module
        search = CutSearch(module, tuple(_axes(mesh)), free, self.memory)
        best = search.best()
        cuts = best.cuts
        root = module.entry.root
        plan: dict[Instruction, Instruction] = {}
        for instr in module.entry.parameters:
            if instr.name in free:
                plan[instr] = with_sharding(instr, sharding_of(cuts[instr.name]))
        if root.annotations.sharding is None and root not in plan and best.results:
            plan[root] = with_sharding(root, best.results)
        plan = {old: new for old, new in plan.items() if log.rewrite("shard", old, new)}
        return rebuild_module(
            module, lambda c: rebuild(c, plan) if c is module.entry else c, prune=False
        )


def _is_free(parameter: Instruction) -> bool:
    shape = parameter.shape
    return parameter.annotations.sharding is None and shape.is_array and not shape.is_dynamic


def _axes(mesh: tuple[int, ...]) -> Iterator[CutAxis]:
    """The axes of a mesh whose devices are numbered row by row."""
    for count, places in zip(mesh, np.indices(mesh).reshape(len(mesh), -1), strict=True):
        if count > 1:
            yield CutAxis(count, tuple(int(p) for p in places))


@dataclass(frozen=True)
class Candidate:
    """A choice of cuts, and its result.

    Attributes
    ----------
    chosen : the parameters that are cut by choice.
    division : the program divided; None if no device has a part of its own.
    cost : what it costs: bytes for which there is no room, seconds, bytes of parameters.
    """

    chosen: Choice
    division: Division | None
    cost: tuple[int, float, int]
    parameters: tuple[Instruction, ...]

    @cached_property
    def cuts(self) -> Mapping[str, ArrayCut]:
        """The cut of each parameter, chosen or propagated."""
        if self.division is None:
            return {p.name: whole(p.shape.rank) for p in self.parameters if p.shape.is_array}
        analysis = self.division.analysis
        return {
            p.name: analysis.propagation.cuts[p, ()]
            for p in self.division.source.entry.parameters
            if p.shape.is_array
        }

    @property
    def results(self) -> Sharding | None:
        """The sharding of the result."""
        if self.division is None:
            return None
        root, analysis = self.division.source.entry.root, self.division.analysis
        shardings = tuple(analysis.reader.sharding(cut) for cut in analysis.results.values())
        return Sharding("tuple", elements=shardings) if root.shape.is_tuple else shardings[0]


class CutSearch:
    """A search for the cuts of parameters.

    Parameters
    ----------
    axes : of the mesh.
    free : the names of the parameters that may be cut.
    memory : bytes of parameters that a device has room for; 0 for any number.
    """

    def __init__(
        self, module: Module, axes: tuple[CutAxis, ...], free: set[str], memory: int
    ) -> None:
        self.module, self.axes, self.free, self.memory = module, axes, free, memory
        self.known: dict[Choice, Candidate] = {}

    def best(self) -> Candidate:
        """The best choice that is found: a beam of a few, until no cut more makes one better."""
        best = self.tried(())
        beam = [best]
        while beam:
            candidates = {c.chosen: c for one in beam for c in self._extended(one)}
            beam = sorted(candidates.values(), key=lambda c: c.cost)[:_BEAM]
            if not beam or not _is_better(beam[0], best):
                break
            best = beam[0]
        return best

    def _extended(self, one: Candidate) -> Iterator[Candidate]:
        """The choices with a cut more."""
        shapes = {p.name: p.shape for p in self.module.entry.parameters}
        for name in sorted(self.free):
            cut = one.cuts[name]
            for dim, size in enumerate(shapes[name].dims):
                for axis in self.axes:
                    finer = combined(cut.dims[dim], axis)
                    assert finer
                    finer_cut = cut.with_dim(dim, finer)
                    if size % finer.count == 0 and finer_cut.is_possible:
                        chosen = {**dict(one.chosen), name: finer_cut}
                        yield self.tried(tuple(sorted(chosen.items(), key=lambda c: c[0])))

    def tried(self, chosen: Choice) -> Candidate:
        """A choice, divided and simulated."""
        if chosen not in self.known:
            division = divided(self._annotated(dict(chosen)), entry=True)
            module = division.program if division else self.module
            fleet = fleet_of(module)
            held = sum(p.shape.bytes for p in module.entry.parameters)
            over = max(held - self.memory, 0) if self.memory else 0
            cost = (over, fleet.total(module.entry), held)
            parameters = self.module.entry.parameters
            self.known[chosen] = Candidate(chosen, division, cost, parameters)
        return self.known[chosen]

    def _annotated(self, chosen: Mapping[str, ArrayCut]) -> Module:
        """The module with these cuts, and all others left to propagation."""
        entry = self.module.entry
        plan = {
            p: with_sharding(p, sharding_of(chosen[p.name]))
            for p in entry.parameters if p.name in chosen
        }  # fmt: skip
        left = tuple(
            p.name in self.free and p.name not in chosen
            for p in entry.parameters for _ in p.shape.leaves()
        )  # fmt: skip
        header = replace(
            self.module.header,
            num_partitions=prod(axis.count for axis in self.axes),
            allow_spmd_sharding_propagation_to_parameters=left,
            allow_spmd_sharding_propagation_to_output=(entry.root.annotations.sharding is None,),
        )
        changed = rebuild_module(
            self.module, lambda c: rebuild(c, plan) if c is entry else c, prune=False
        )
        return replace(changed, header=header)


def _is_better(one: Candidate, other: Candidate) -> bool:
    """Whether a choice is worth its cuts."""
    (over, seconds, held), (more, before, room) = one.cost, other.cost
    if over != more:
        return over < more
    least = before * (1 - _LEAST_GAIN)
    return seconds < least or (seconds <= before and held < room)
