"""Divides a program by its shardings: makes the module that each device runs.

    local = f32[4] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape"   =>
                local = f32[4] dynamic-slice(x, start-of-this-partition)
    whole = f32[8] custom-call(y), custom_call_target="xla.sdy.LocalToGlobalShape"   =>
                whole = f32[8] all-gather(y), replica_groups={{0,1}}

Computations between such calls run on parts already. What lies around them, each device computes
whole: unlike XLA's partitioner, this one divides no instruction. A part that is gathered only to be
cut again in the same way is used as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall, GetTupleElement
from hlo.attributes.annotations import NO_ANNOTATIONS, Annotations
from hlo.errors.error import HloError
from hlo.sharded import (
    CUTS,
    JOINS,
    MESHES,
    meshes_in,
    partitions_of,
    resharding,
    reshardings,
    shards_of,
)
from hlo.types.shape import tuple_of
from hlo.types.values import ComputationLayout, FrontendAttributes
from hlo.walk import names_of, rebuild, rebuild_module
from interpreter.custom_calls.placement import identity
from interpreter.custom_calls.registry import CUSTOM_CALLS
from optimizer.cleanup.dce import Dce
from optimizer.cleanup.tuple_simplifier import TupleSimplifier
from optimizer.expanders.op_expander import ExpansionSite, element, expand
from optimizer.log import Log
from optimizer.partitioning.communication import gathered, part_of
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from hlo.sharded import Shards
    from hlo.types.shape import Shape
    from hlo.types.sharding import Mesh, Sharding


@register
@dataclass(frozen=True)
class SpmdPartitioning:
    """Replaces calls that cut arrays into parts, or join them, by slices and collectives.

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
        before = module
        partitions = max(partitions_of(module), _named_at_the_entry(module) if self.entry else 1)
        if self.entry:
            module = _with_local_entry(module)
        if partitions == 1 or not reshardings(module):
            return before
        made = _divided(module, partitions)
        # A module that is divided in part has no meaning: this is one rewrite.
        first = reshardings(module)[0]
        return made if log.rewrite("divide", first, made.entry.root) else before


def _divided(module: Module, partitions: int) -> Module:
    """The module without calls that cut and join."""
    others = module.header.frontend_attributes.entries
    header = replace(
        module.header,
        num_partitions=partitions,
        frontend_attributes=FrontendAttributes(tuple(e for e in others if e[0] != MESHES)),
    )
    calls = _Calls(meshes_in(module), (header.replica_count, partitions), _channels(module))
    module, silent = replace(module, header=header), Log()
    module = expand(module, silent, {"custom-call": calls.cut}, always=True)
    # What is joined only to be cut again is not gathered.
    module = Dce().run(TupleSimplifier().run(module, silent), silent)
    module = expand(module, silent, {"custom-call": calls.join}, always=True)
    return TupleSimplifier().run(rebuild_module(module, _without_shardy), silent)


@dataclass(frozen=True)
class _Calls:
    """The expansions of the calls of one module.

    Attributes
    ----------
    grid : replicas and partitions.
    channels : numbers that no collective has yet.
    """

    meshes: Mapping[str, Mesh]
    grid: tuple[int, int]
    channels: Iterator[int]

    def cut(self, site: ExpansionSite) -> Instruction | None:
        """A part of each operand; for a call that joins, the same, which may go if it is unused."""
        instr, attrs = site.instr, CustomCall.of(site.instr)
        if CUSTOM_CALLS.get(attrs.custom_call_target) is identity and _is_plain(instr):
            return instr.operands[0]
        if attrs.custom_call_target in JOINS and attrs.custom_call_has_side_effect:
            return instr.with_(attrs=replace(attrs, custom_call_has_side_effect=False))
        if attrs.custom_call_target not in CUTS:
            return None
        parts = resharding(instr, self.meshes)
        pairs = zip(instr.operands, parts, strict=True)
        values = [self._held(o, p) or part_of(o, p) for o, p in pairs]
        return make("tuple", *values) if instr.shape.is_tuple else values[0]

    def join(self, site: ExpansionSite) -> Instruction | None:
        """The whole of each operand."""
        instr = site.instr
        if CustomCall.of(instr).custom_call_target not in JOINS:
            return None
        pairs = zip(instr.operands, resharding(instr, self.meshes), strict=True)
        values = [gathered(o, p, next(self.channels), self.grid) for o, p in pairs]
        return make("tuple", *values) if instr.shape.is_tuple else values[0]

    def _held(self, whole: Instruction, parts: Shards) -> Instruction | None:
        """The part of an array that a device held before it was joined; None if it held another."""
        while (nearer := _given_on(whole)) is not None:
            whole = nearer
        index = 0
        if whole.opcode == "get-tuple-element":
            index, whole = GetTupleElement.of(whole).index, whole.operands[0]
        if not _is_call(whole) or _target(whole) not in JOINS:
            return None
        same = resharding(whole, self.meshes)[index] == parts
        return whole.operands[index] if same else None


def _given_on(instr: Instruction) -> Instruction | None:
    """The operand that is an instruction's value: of a plain call, or in a tuple just made."""
    if _is_call(instr) and CUSTOM_CALLS.get(_target(instr)) is identity and _is_plain(instr):
        return instr.operands[0]
    if instr.opcode == "get-tuple-element" and instr.operands[0].opcode == "tuple":
        return instr.operands[0].operands[GetTupleElement.of(instr).index]
    return None


def _is_call(instr: Instruction) -> bool:
    return instr.opcode == "custom-call"


def _target(instr: Instruction) -> str:
    return CustomCall.of(instr).custom_call_target


def _is_plain(instr: Instruction) -> bool:
    """Whether a call gives its only operand on, and a computation can do without it."""
    return len(instr.operands) == 1 and instr.operands[0].shape == instr.shape


def _channels(module: Module) -> Iterator[int]:
    used = [getattr(instr.attrs, "channel_id", None) or 0 for instr in module.instructions()]
    return count(max(used) + 1)


def _without_shardy(computation: Computation) -> Computation:
    """A computation whose instructions name no axes of meshes that are gone."""
    plan: dict[Instruction, Instruction] = {}
    for instr in computation.instructions:
        attributes = instr.annotations.frontend_attributes
        entries = attributes.entries if attributes else ()
        kept = tuple(e for e in entries if not e[0].startswith("xla.sdy."))
        if len(kept) < len(entries):
            left = FrontendAttributes(kept) if kept else None
            annotations = replace(instr.annotations, frontend_attributes=left)
            plan[instr] = instr.with_(annotations=annotations)
    return rebuild(computation, plan)


# ------------------------------------------------------------------ parameters and results


def _leaves(instr: Instruction) -> list[tuple[Shape, Sharding | None]]:
    """The arrays of a parameter or result, each with its sharding."""
    shape, sharding = instr.shape, instr.annotations.sharding
    if not shape.is_tuple:
        return [(shape, sharding)]
    shapes = shape.elements
    if sharding is None or sharding.kind != "tuple":
        return [(each, sharding) for each in shapes]
    if len(sharding.elements) != len(shapes) or any(s.is_tuple for s in shapes):
        message = f"{instr.name}: its sharding is not that of a tuple of {len(shapes)} arrays"
        raise HloError("HLO122", message, instr.span)
    return list(zip(shapes, sharding.elements, strict=True))


def _parts(instr: Instruction) -> list[Shards | None]:
    """The parts of each array of a parameter or result; None where each device has all of it."""
    found: list[Shards | None] = []
    for shape, sharding in _leaves(instr):
        parts = shards_of(sharding, shape.rank) if sharding and shape.is_array else None
        if sharding and sharding.tiles and not (parts and parts.cut_evenly(shape)):
            message = f"{instr.name}: its sharding does not cut {shape.text_without_layout} evenly"
            raise HloError("HLO122", message, instr.span)
        found.append(None if parts is None or parts.is_whole else parts)
    return found


def _named_at_the_entry(module: Module) -> int:
    """The number of devices that hold parts of parameters or results."""
    ends = (*module.entry.parameters, module.entry.root)
    return max([len(p.places) for end in ends for p in _parts(end) if p], default=1)


def _with_local_entry(module: Module) -> Module:
    """The module whose parameters are joined first, and whose results are cut at the end."""
    entry, names = module.entry, names_of(module)
    plan: dict[Instruction, Instruction] = {}
    for parameter in entry.parameters:
        parts = _parts(parameter)
        if any(parts):
            plan[parameter] = _joined(parameter, parts, names)
    parts = _parts(entry.root)
    if any(parts):
        plan[entry.root] = _cut(entry.root, plan.get(entry.root, entry.root), parts, names)
    if not plan:
        return module
    made = rebuild(entry, plan)
    layout = ComputationLayout(tuple(p.shape for p in made.parameters), made.root.shape)
    computations = tuple(made if c is entry else c for c in module.computations)
    header = replace(
        module.header, entry_computation_layout=layout, input_output_alias=(), buffer_donor=()
    )
    return replace(module, computations=computations, entry=made, header=header)


def _joined(parameter: Instruction, parts: list[Shards | None], names: NameSupply) -> Instruction:
    """The whole of a parameter that is a part."""
    leaves = _leaves(parameter)
    shapes = [p.local(s) if p else s for (s, _), p in zip(leaves, parts, strict=True)]
    local = parameter.with_(
        shape=tuple_of(*shapes) if parameter.shape.is_tuple else shapes[0],
        annotations=replace(parameter.annotations, sharding=None),
    )
    if not parameter.shape.is_tuple:
        return _call("SPMDShardToFullShape", local, *leaves[0], names)
    values: list[Instruction] = []
    for index, ((shape, sharding), part) in enumerate(zip(leaves, parts, strict=True)):
        one = _renamed(element(local, index), names)
        values.append(_call("SPMDShardToFullShape", one, shape, sharding, names) if part else one)
    return _renamed(make("tuple", *values), names)


def _cut(
    root: Instruction, whole: Instruction, parts: list[Shards | None], names: NameSupply
) -> Instruction:
    """The parts of a result."""
    values: list[Instruction] = []
    for index, ((shape, sharding), part) in enumerate(zip(_leaves(root), parts, strict=True)):
        one = _renamed(element(whole, index), names) if root.shape.is_tuple else whole
        if part:
            one = _call("Sharding", one, shape, sharding, names)
            one = _call("SPMDFullToShardShape", one, part.local(shape), None, names)
        values.append(one)
    return _renamed(make("tuple", *values), names) if root.shape.is_tuple else values[0]


def _call(
    target: str, operand: Instruction, shape: Shape | None, sharding: Sharding | None,
    names: NameSupply,
) -> Instruction:  # fmt: skip
    made = make("custom-call", operand, shape=shape, custom_call_target=target)
    annotations = Annotations(sharding) if sharding else NO_ANNOTATIONS
    return _renamed(made, names).with_(annotations=annotations)


def _renamed(instr: Instruction, names: NameSupply) -> Instruction:
    return instr.with_(name=names.unique(instr.opcode))
