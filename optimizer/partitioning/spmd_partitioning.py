"""Divides a program by its shardings: makes the module that each device runs.

    local = f32[4] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape"   =>
                local = f32[4] dynamic-slice(x, start-of-this-partition)
    whole = f32[8] custom-call(y), custom_call_target="xla.sdy.LocalToGlobalShape"   =>
                whole = f32[8] all-gather(y), replica_groups={{0,1}}

Computations between such calls run on parts already. An instruction around them is divided if it
follows from its operands' parts which part of its value a device can compute
(`optimizer.partitioning.division`); else each device computes the whole. XLA's partitioner has
shardings of all instructions from a pass before it, which also asks how values are used. A part
that is gathered only to be cut again in the same way is used as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall, GetTupleElement
from hlo.errors.error import HloError
from hlo.sharded import (
    CUTS,
    JOINS,
    MESHES,
    meshes_in,
    partitions_of,
    resharding,
    reshardings,
)
from hlo.types.values import FrontendAttributes
from hlo.walk import names_of, rebuild, rebuild_module
from interpreter.custom_calls.placement import identity
from interpreter.custom_calls.registry import CUSTOM_CALLS
from optimizer.cleanup.dce import Dce
from optimizer.cleanup.tuple_simplifier import TupleSimplifier
from optimizer.expanders.op_expander import ExpansionSite, expand
from optimizer.log import Log
from optimizer.partitioning.communication import gathered, part_of
from optimizer.partitioning.computations import ComputationDivision, Devices
from optimizer.partitioning.division import Held
from optimizer.partitioning.entry import named_at_the_entry, with_local_entry
from optimizer.partitioning.parts import are_same
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hlo.instruction import Computation, Instruction, Module
    from hlo.sharded import Shards
    from hlo.types.sharding import Mesh


@register
@dataclass(frozen=True)
class SpmdPartitioning:
    """Makes the module that each device runs, of a program whose arrays are cut among devices.

    Calls should be inlined before: what they call runs on whole arrays, as do the branches of
    conditionals.

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
        partitions = max(partitions_of(module), named_at_the_entry(module) if self.entry else 1)
        if self.entry:
            module = with_local_entry(module)
        if partitions == 1 or not reshardings(module):
            return before
        _expect_all(module, partitions)
        made = _divided(module, partitions)
        # A module that is divided in part has no meaning: this is one rewrite.
        first = reshardings(module)[0]
        return made if log.rewrite("divide", first, made.entry.root) else before


def _expect_all(module: Module, partitions: int) -> None:
    """Refuse arrays of which some devices hold no part."""
    meshes = meshes_in(module)
    for instr in reshardings(module):
        for parts in resharding(instr, meshes):
            if not parts.is_whole and len(parts.places) != partitions:
                message = (
                    f"{instr.name}: its sharding is for {len(parts.places)} of {partitions} devices"
                )
                span = instr.span or instr.operands[0].span
                raise HloError("HLO122", message, span)


def _divided(module: Module, partitions: int) -> Module:
    """The module without calls that cut and join."""
    others = module.header.frontend_attributes.entries
    header = replace(
        module.header,
        num_partitions=partitions,
        frontend_attributes=FrontendAttributes(tuple(e for e in others if e[0] != MESHES)),
    )
    calls = _Calls(meshes_in(module), (header.replica_count, partitions), _channels(module))
    silent = Log()
    module = calls.divide(Dce().run(replace(module, header=header), silent))
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

    def divide(self, module: Module) -> Module:
        """Let devices run instructions of the entry on the parts of operands that they hold."""
        devices = Devices(self.grid, names_of(module), self.channels, self._joined)
        division = ComputationDivision(devices)
        division.run(module.entry)
        made = rebuild(module.entry, division.plan)
        return rebuild_module(module, lambda c: made if c is module.entry else c)

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
        held = self._joined(whole)
        return held.part if held and are_same(held.parts, parts) else None

    def _joined(self, whole: Instruction) -> Held | None:
        """The parts from which an array is joined; None if it is not."""
        while (nearer := _given_on(whole)) is not None:
            whole = nearer
        index = 0
        if whole.opcode == "get-tuple-element":
            index, whole = GetTupleElement.of(whole).index, whole.operands[0]
        if not _is_call(whole) or _target(whole) not in JOINS:
            return None
        return Held(whole.operands[index], resharding(whole, self.meshes)[index])


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
