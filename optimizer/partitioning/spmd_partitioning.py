"""Divides a program by its shardings: makes the module that each device runs.

    x = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}      x = f32[4,4] parameter(0)
    y = f32[8,4] tanh(x)                                      =>  y = f32[4,4] tanh(x)
    ROOT s = f32[4] reduce(y, zero), dimensions={0}               s = f32[4] reduce(y, zero)
                                                                  ROOT a = f32[4] all-reduce(s)

Regions that devices run on parts already (`shard_map`) lose the calls that begin and end them. What
lies around is divided: `sharding-propagation` says how each array is wanted, `division` how devices
share the work of an instruction, `resharding` how a part of another cut is had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from hlo.sharded import MESHES
from hlo.types.values import ComputationLayout, FrontendAttributes
from hlo.walk import called_first, names_of
from optimizer.calls.call_inliner import CallInliner
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.cleanup.dce import Dce
from optimizer.cleanup.tuple_simplifier import TupleSimplifier
from optimizer.log import Log
from optimizer.partitioning.building import Devices
from optimizer.partitioning.communication import Network
from optimizer.partitioning.computations import called_on_parts
from optimizer.partitioning.sharding_propagation import Analysis, analysed
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Header, Instruction, Module


@register
@dataclass(frozen=True)
class SpmdPartitioning:
    """Makes the program of one device from a program whose arrays are sharded.

    Attributes
    ----------
    entry : also cut the parameters and the results as their shardings say, so that each device
        is given its parts; else each device is given whole arrays.
    """

    entry: bool = False
    name = "spmd-partitioning"
    xla = "xla/service/spmd/spmd_partitioner.cc, and shardy_xla_pass.cc before it"

    def run(self, module: Module, log: Log) -> Module:
        """The module for each device; the same one if it says nothing of parts."""
        division = divided(module, entry=self.entry)
        if division is None:
            return module
        # A module that is divided in part has no meaning: all rewrites are done, or none.
        done = [log.rewrite(word, old, new) for word, old, new in division.devices.notes]
        done.append(log.rewrite("divide", module.entry.root, division.program.entry.root))
        return division.program if all(done) else module

    def advice(self, module: Module) -> str:
        """The option that divides a module which the pass leaves as it is; "" for none."""
        analysis = None if self.entry else analysed(module, entry=True)
        if analysis is None or analysis.is_trivial:
            return ""
        return f"nothing is divided but regions of shard_map; try {self.name}{{entry=true}}"


@dataclass(frozen=True)
class Division:
    """A module that is divided, and how.

    Attributes
    ----------
    source : the module whose instructions are divided: calls are inlined.
    analysis : the cuts of its arrays.
    program : what each device runs.
    devices : the decisions: the collectives (`notes`), and the plan of each instruction.
    """

    source: Module
    analysis: Analysis
    program: Module
    devices: Devices


def divided(module: Module, *, entry: bool) -> Division | None:
    """The module of each device; None if the module says nothing of parts.

    Parameters
    ----------
    entry : also cut parameters and results.
    """
    analysis = analysed(module, entry=entry)
    if analysis is None or analysis.is_trivial or not (entry or analysis.flow.borders):
        return None
    silent = Log()
    # A body that takes the place of a call has its root's sharding, not the call's.
    calls = [i for i in module.instructions() if i.opcode == "call"]
    lost = any(i.annotations.sharding not in (None, i.called[0].root.annotations.sharding)
               for i in calls)  # fmt: skip
    flat = module if lost else CallInliner().run(module, silent)
    flat = FlattenCallGraph().run(flat, silent)
    if flat is not module:
        analysis = analysed(flat, entry=entry)
        assert analysis, "a program of several devices"
    grid = (module.header.replica_count, analysis.reader.devices)
    names = names_of(flat)
    network = Network(grid, _channels(flat), names)
    cuts, has_summands = analysis.propagation.cuts, analysis.propagation.has_summands
    devices = Devices(network, names, analysis.flow, cuts, has_summands)
    taken = [
        {path: analysis.propagation.cuts[p, path] for path, _ in p.shape.leaves()}
        for p in flat.entry.parameters
    ]
    entry_of_parts = called_on_parts(flat.entry, taken, analysis.results, devices)
    computations = tuple(called_first(entry_of_parts))
    header = _header(flat, entry_of_parts.parameters, entry_of_parts.root, analysis.reader.devices)
    whole = replace(flat, computations=computations, entry=entry_of_parts, header=header)
    clean = Dce().run(TupleSimplifier().run(whole, silent), silent)
    return Division(flat, analysis, TupleSimplifier().run(clean, silent), devices)


def _header(
    module: Module, parameters: tuple[Instruction, ...], root: Instruction, devices: int
) -> Header:
    """The header for parts: arrays may share memory as before, if their parts have one shape."""
    header = module.header
    others = header.frontend_attributes.entries
    inputs = [p.shape for p in parameters]
    aliases = tuple(
        alias for alias in header.input_output_alias
        if inputs[alias.parameter].at(alias.parameter_index).without_layout
        == root.shape.at(alias.output_index).without_layout
    )  # fmt: skip
    return replace(
        header,
        entry_computation_layout=ComputationLayout(tuple(inputs), root.shape),
        input_output_alias=aliases,
        num_partitions=devices,
        frontend_attributes=FrontendAttributes(tuple(e for e in others if e[0] != MESHES)),
    )


def _channels(module: Module) -> Iterator[int]:
    used = [getattr(instr.attrs, "channel_id", None) or 0 for instr in module.instructions()]
    return count(max(used) + 1)
