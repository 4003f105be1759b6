"""Collectives of one kind become one, which waits for other devices once.

    a = f32[4] all-reduce(x)           c = (f32[4], f32[8]) all-reduce(x, y)
    b = f32[8] all-reduce(y)    =>     a = f32[4] get-tuple-element(c), index=0
                                       b = f32[8] get-tuple-element(c), index=1

They have the same groups, reducer, element type and dimension, and none needs another one's
result. Channels only tell collectives apart: the new one has the first one's. One that has several
operands, a required layout or control dependencies stays, and so do all beside a `domain`.

XLA ends a set at the first collective that it can't take. These passes go on after it, so a second
run finds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from hlo import attributes as a
from hlo.effects import ordered, without
from hlo.types.shape import tuple_of
from hlo.types.sharding import ReplicaGroups, Sharding
from hlo.walk import names_of
from optimizer.passes import register
from optimizer.reducers import operation_of
from optimizer.rewriting.make import make
from optimizer.rewriting.sites import rebuild_unfused, rewrite_computation

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log
    from optimizer.rewriting.sites import SiteRewrites

_REDUCING = frozenset({"all-reduce", "reduce-scatter"})


@dataclass(frozen=True)
class CollectiveCombiner:
    """Combines collectives of one opcode.

    Attributes
    ----------
    combine_threshold_in_bytes : the results of a combined collective have at most so many.
    combine_threshold_count : it has at most so many results.
    """

    combine_threshold_in_bytes: int = 30 * 1024 * 1024 + 7
    combine_threshold_count: int = 256
    opcode: ClassVar[str]

    def run(self, module: Module, log: Log) -> Module:
        """The module with fewer collectives."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            opcodes = computation.opcodes
            if self.opcode not in opcodes or "domain" in opcodes:
                return computation
            tied = ordered(computation)
            kinds = {
                instr.name: kind
                for instr in computation.instructions
                if instr.opcode == self.opcode and instr not in tied and (kind := kind_of(instr))
            }
            while len(kinds) > 1:
                several = self._first_set(computation, kinds)
                for instr in several:
                    del kinds[instr.name]
                if len(several) > 1:
                    computation = _with_combined(computation, several, names, log)
            return computation

        return rebuild_unfused(module, change)

    def _first_set(self, computation: Computation, kinds: dict[str, Hashable]) -> list[Instruction]:
        """The first collective of those that have a kind, and all others that it may be one with.

        Operands come before their users, so none of a set needs another one if no later one needs
        an earlier one.
        """
        several: list[Instruction] = []
        needing: set[Instruction] = set()
        kind: Hashable = None
        size = 0
        for instr in computation.instructions:
            if several and not (
                needing.isdisjoint(instr.operands)
                and needing.isdisjoint(instr.control_predecessors)
            ):
                needing.add(instr)
                continue
            entry = kinds.get(instr.name)
            if entry is None or (several and entry != kind):
                continue
            if several and size + instr.shape.bytes > self.combine_threshold_in_bytes:
                continue
            several.append(instr)
            needing.add(instr)
            kind, size = entry, size + instr.shape.bytes
            if len(several) >= self.combine_threshold_count:
                break
        return several


def kind_of(instr: Instruction) -> Hashable:
    """Equal for collectives that may be one; None for one that stays alone."""
    attrs: Any = a.Collective.of(instr)
    annotations = instr.annotations
    if len(instr.operands) != 1 or not instr.shape.is_array or attrs.constrain_layout:
        return None
    reducer: Hashable = None
    if instr.opcode in _REDUCING:
        operation = operation_of(instr.called[0], instr)
        if not operation:
            return None
        reducer = operation, instr.called[0].root.shape.element_type
    # Groups are written in three ways.
    groups = ReplicaGroups(attrs.replica_groups.groups())
    return (
        reducer,
        instr.shape.element_type,
        replace(attrs, replica_groups=groups, channel_id=None),
        attrs.channel_id is None,
        annotations.sharding is None,
        annotations.backend_config,
        annotations.frontend_attributes,
    )


def _with_combined(
    computation: Computation, several: list[Instruction], names: NameSupply, log: Log
) -> Computation:
    """A computation in which some collectives are one, if the log allows it."""
    one = combined(several, names.unique(several[0].opcode))
    parts = [
        make("get-tuple-element", one, shape=old.shape, index=index).with_(
            name=old.name, annotations=old.annotations.inherited(old.annotations.sharding)
        )
        for index, old in enumerate(several)
    ]

    def visit(_: Computation, rewrites: SiteRewrites) -> None:
        plan = dict(zip(several, parts, strict=True))
        rewrites.add("combine", several[0], one, *parts, plan=plan)

    return rewrite_computation(computation, log, visit, lambda rebuilt: without(rebuilt, several))


def combined(several: Iterable[Instruction], name: str) -> Instruction:
    """The collective that several are, with the annotations of the first."""
    instructions = list(several)
    annotations = instructions[0].annotations
    if annotations.sharding is not None:
        shardings = [instr.annotations.sharding for instr in instructions]
        elements = tuple(sharding for sharding in shardings if sharding)
        annotations = replace(annotations, sharding=Sharding("tuple", elements=elements))
    return instructions[0].with_(
        name=name,
        operands=tuple(instr.operands[0] for instr in instructions),
        shape=tuple_of(*(instr.shape for instr in instructions)),
        annotations=annotations,
    )


@register
@dataclass(frozen=True)
class AllReduceCombiner(CollectiveCombiner):
    """Replaces all-reduces of one kind by one of all their operands."""

    name = "all-reduce-combiner"
    xla = "xla/hlo/transforms/collectives/all_reduce_combiner.cc"
    opcode = "all-reduce"


@register
@dataclass(frozen=True)
class AllGatherCombiner(CollectiveCombiner):
    """Replaces all-gathers of one kind by one of all their operands."""

    name = "all-gather-combiner"
    xla = "xla/hlo/transforms/collectives/all_gather_combiner.cc"
    opcode = "all-gather"


@register
@dataclass(frozen=True)
class ReduceScatterCombiner(CollectiveCombiner):
    """Replaces reduce-scatters of one kind by one of all their operands."""

    name = "reduce-scatter-combiner"
    xla = "xla/hlo/transforms/collectives/reduce_scatter_combiner.cc"
    opcode = "reduce-scatter"
