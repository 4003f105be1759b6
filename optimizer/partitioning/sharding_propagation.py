"""Gives each array of a program a sharding, from those that the program says.

    x = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
    y = f32[8,4] tanh(x)                                        =>  the same sharding for y
    s = f32[8] reduce(y, zero), dimensions={1}, to_apply=add    =>  {devices=[2]<=[2]} for s

Shardings go from operands to results, and back from results to operands, until none changes; see
`propagation`. `spmd-partitioning` does the same if this pass has not run before. Parameters and
results get one only where the module's header allows that
(`allow_spmd_sharding_propagation_to_parameters`, `..._to_output`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.types.sharding import Sharding
from hlo.walk import rebuild, rebuild_module
from optimizer.partitioning.entry import parameter_wishes, result_wishes
from optimizer.partitioning.flow import Flow, Link
from optimizer.partitioning.propagation import Propagation, Wish, is_free
from optimizer.partitioning.sharding_rules import Factor
from optimizer.partitioning.single_device import device_of
from optimizer.partitioning.wishes import leaves_of, reader_of
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log
    from optimizer.partitioning.cuts import ArrayCut
    from optimizer.partitioning.flow import Node, Path
    from optimizer.partitioning.wishes import ShardingReader


@dataclass(frozen=True)
class Analysis:
    """The cuts of a module's arrays.

    Attributes
    ----------
    reader : of the module's shardings.
    results : the cut of each array of the result.
    """

    reader: ShardingReader
    flow: Flow
    propagation: Propagation
    results: dict[Path, ArrayCut]

    @property
    def is_trivial(self) -> bool:
        """Whether each device has all arrays whole, and makes all calls."""
        if self.flow.borders or any(device_of(i) is not None for i in self.flow.leaves):
            return False
        return all(c.is_whole for c in self.propagation.cuts.values())


def _wishes(flow: Flow, reader: ShardingReader) -> dict[Node, Wish]:
    """The shardings that instructions have."""
    wishes: dict[Node, Wish] = {}
    for instr, leaves in flow.leaves.items():
        if instr.annotations.sharding is None or instr.opcode in ("outfeed", "tuple"):
            continue
        if instr in flow.borders and "Shape" in CustomCall.of(instr).custom_call_target:
            continue
        for path, wish in reader.wishes(instr):
            if leaves[path] == (instr, path) or leaves[path][0].opcode == "while":
                wishes.setdefault(leaves[path], wish)
    for root, caller in returned(flow).items():
        if root.annotations.sharding is not None:
            for path, wish in reader.wishes(root):
                wishes.setdefault(flow.leaves[caller][path], wish)
    return wishes


def analysed(module: Module, *, entry: bool) -> Analysis | None:
    """The cuts of a module's arrays; None for a program of one device.

    Parameters
    ----------
    entry : whether parameters and results are cut as their shardings say.

    Raises
    ------
    HloError
        HLO122 if a sharding is not one of all devices, or does not fit its array.
    """
    reader = reader_of(module)
    devices = reader.devices
    if devices == 1:
        return None
    flow = Flow(reader.border)
    flow.visit(module.entry)
    wishes = _wishes(flow, reader)
    wishes |= parameter_wishes(module, reader, cut=entry)
    ends: dict[Path, Node] = {}
    root = module.entry.root
    for path, wish in result_wishes(module, reader, cut=entry).items():
        node = ends[path] = (root, (-1, *path))
        source = flow.leaves[root][path]
        flow.shapes[node], flow.regions[node] = flow.shapes[source], ()
        wishes[node] = wish
        if root.opcode == "while":
            # Its sharding is that of the loop's state, too.
            wishes[source] = wish
        if flow.shapes[source].is_array:
            rule = tuple(Factor((d,), (d,)) for d in range(flow.shapes[source].rank))
            flow.links.append(Link(None, (source,), (node,), rule))
    propagation = Propagation(flow, wishes)
    propagation.run()
    results = {path: propagation.cuts[node] for path, node in ends.items()}
    return Analysis(reader, flow, propagation, results)


def returned(flow: Flow) -> dict[Instruction, Instruction]:
    """The roots of branches and of loops' bodies, with their outermost callers."""
    owners: dict[Instruction, Instruction] = {}
    for instr in flow.leaves:
        if instr.opcode == "conditional":
            owners |= {branch.root: instr for branch in instr.called}
        elif instr.opcode == "while":
            owners[instr.called[1].root] = instr
    for root, caller in owners.items():
        outer = caller
        while outer in owners:
            outer = owners[outer]
        owners[root] = outer
    return owners


@register
@dataclass(frozen=True)
class ShardingPropagation:
    """Gives each array a sharding, from those in the program."""

    name = "sharding-propagation"
    xla = "xla/service/sharding_propagation.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with a sharding for each instruction; the same one if it says none."""
        analysis = analysed(module, entry=True)
        if analysis is None or analysis.is_trivial:
            return module

        # What branches and bodies give is sharded as what their caller gives.
        callers = returned(analysis.flow)
        shardings = {
            instr.name: sharding
            for instr in analysis.flow.leaves
            if (sharding := _sharding(callers.get(instr, instr), analysis, module))
            and sharding != instr.annotations.sharding
        }

        def annotated(computation: Computation) -> Computation:
            plan: dict[Instruction, Instruction] = {}
            for instr in computation.instructions:
                if instr.name in shardings:
                    annotations = replace(instr.annotations, sharding=shardings[instr.name])
                    new = instr.with_(annotations=annotations)
                    if log.rewrite("shard", instr, new):
                        plan[instr] = new
            return rebuild(computation, plan)

        return rebuild_module(module, annotated, prune=False)


def _sharding(instr: Instruction, analysis: Analysis, module: Module) -> Sharding | None:
    """The sharding of an instruction that gets one; None where it stays as it is."""
    leaves = analysis.flow.leaves.get(instr)
    own = instr.annotations.sharding
    if leaves is None or (own is None and is_free(instr) and not any(
        map(analysis.propagation.takes_part, leaves.values())
    )):  # fmt: skip
        return None
    if instr is module.entry.root:
        cuts = list(analysis.results.values())
    else:
        cuts = [analysis.propagation.cuts[node] for node in leaves.values()]
    if own is not None and own.kind != "tuple":
        stays = not _was_open(instr, analysis) and not analysis.reader.is_for_some(own)
        return own if stays else analysis.reader.sharding(cuts[0])
    if own is not None and instr is not module.entry.root:
        return _of_tuple(instr, own, analysis)
    if any(not s.is_array for _, s in instr.shape.leaves()):
        return own
    if instr.shape.is_tuple:
        shardings = tuple(analysis.reader.sharding(cut) for cut in cuts)
        return Sharding("tuple", elements=shardings) if shardings else None
    return analysis.reader.sharding(cuts[0])


def _of_tuple(instr: Instruction, own: Sharding, analysis: Analysis) -> Sharding:
    """The shardings of a tuple's arrays: those that a program leaves open as propagated."""
    said = [sharding or own for _, _, sharding in leaves_of(instr)]
    shardings = list(said)
    for n, node in enumerate(analysis.flow.leaves[instr].values()):
        wish = analysis.propagation.wishes.get(node)
        if (wish and wish.open) or analysis.reader.is_for_some(said[n]):
            shardings[n] = analysis.reader.sharding(analysis.propagation.cuts[node])
    return own if shardings == said else Sharding("tuple", elements=tuple(shardings))


def _was_open(instr: Instruction, flow: Analysis) -> bool:
    """Whether a sharding left dimensions open that are cut now."""
    wishes = [flow.propagation.wishes.get(node) for node in flow.flow.leaves[instr].values()]
    return any(w and w.open and not instr.shape.is_tuple for w in wishes)
