"""Rules of collectives: who takes part, and how many.

Devices form a grid of replicas and partitions. What the numbers in `replica_groups` mean follows
from `channel_id` and `use_global_device_ids`:

| channel_id | use_global_device_ids | the numbers are | groups are |
| --- | --- | --- | --- |
| no | no | replicas | each partition by itself |
| yes | no | replicas | all partitions together |
| yes | yes | replica * partitions + partition | as written |
| yes | there is no such attribute | partitions | each replica by itself |

Counts are compared only where the module says how many replicas or partitions there are.

Sources: XLA's `collective_ops_utils.cc`, CheckReplicaGroups in `hlo_verifier.cc`.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.infer.checks import compatible, show
from hlo.infer.devices import shard_count
from hlo.verify.scope import refuse
from hlo.verify.table import verifies
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.verify.scope import VerifiedScope

# Groups are written out to be checked; no machine has so many devices.
_MOST_DEVICES = 1 << 20
_MODES = ("cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id")


def group_mode(instr: Instruction) -> str:
    """The meaning of the numbers in an instruction's groups: one of the four rows above."""
    stated = getattr(instr.attrs, "mode", "")
    if stated in _MODES:
        return stated
    has_channel = getattr(instr.attrs, "channel_id", None) is not None
    global_ids = getattr(instr.attrs, "use_global_device_ids", False)
    if not has_channel:
        if global_ids:
            refuse(instr, "HLO065", "use_global_device_ids needs a channel_id")
        return "cross_replica"
    # Only these have an attribute that makes their groups' numbers global.
    if instr.opcode.startswith(("all-gather", "all-reduce", "reduce-scatter")):
        return "flattened_id" if global_ids else "cross_replica_and_partition"
    return "flattened_id" if global_ids else "cross_partition"


def _groups(instr: Instruction, attrs: a.Collective) -> tuple[tuple[int, ...], ...]:
    """The groups; HLO065 if their compressed form makes no sense."""
    said = attrs.replica_groups
    count = prod(size for _, size in said.mesh.axes) if said.mesh else 0
    if said.tiles:
        count = max(prod(said.tiles.dims), prod(said.tiles.reshape))
    if count > _MOST_DEVICES:
        refuse(instr, "HLO065", f"replica_groups name {counted(count, 'device')}")
    try:
        return said.groups()
    except (ValueError, KeyError, ZeroDivisionError):
        return refuse(instr, "HLO065", "replica_groups do not come out even")


def _verify_groups(
    scope: VerifiedScope, instr: Instruction, attrs: a.Collective, *, uniform: bool = True
) -> int:
    """Check that groups split 0, ..., n-1; give the number of devices in the first group."""
    mode = group_mode(instr)
    groups = _groups(instr, attrs)
    replicas, partitions = scope.outer.replicas, scope.outer.partitions
    available = {
        "cross_replica": replicas,
        "cross_replica_and_partition": replicas,
        "cross_partition": partitions,
        "flattened_id": replicas * partitions,
    }[mode]
    if not groups:
        if mode == "flattened_id":
            refuse(instr, "HLO065", "use_global_device_ids needs replica_groups")
        size = available
    else:
        _verify_partition(instr, groups, available)
        size = len(groups[0])
        if uniform and any(len(group) != size for group in groups):
            refuse(instr, "HLO065", "replica_groups differ in size")
    return size * partitions if mode == "cross_replica_and_partition" else size


def _verify_partition(
    instr: Instruction, groups: tuple[tuple[int, ...], ...], available: int
) -> None:
    members = [member for group in groups for member in group]
    if not all(groups):
        refuse(instr, "HLO065", "a replica group is empty")
    missing = set(range(len(members))) - set(members)
    if missing:
        repeated = next((m for m, count in Counter(members).items() if count > 1), None)
        said = f"{repeated} is in it twice" if repeated is not None else f"{min(missing)} is not"
        refuse(
            instr,
            "HLO065",
            f"replica_groups must name each of 0, ..., {len(members) - 1} once: {said}",
        )
    if available not in (1, len(members)):
        refuse(
            instr,
            "HLO066",
            f"replica_groups name {counted(len(members), 'device')}, but there are {available}",
        )


def _verify_count(scope: VerifiedScope, instr: Instruction, shards: int, size: int) -> None:
    # Where groups take in all partitions, and nobody says how many there are, it may be any number.
    is_open = scope.outer.partitions == 1 and group_mode(instr) == "cross_replica_and_partition"
    if size != 1 and (shards % size if is_open else shards != size):
        refuse(
            instr,
            "HLO066",
            f"the shapes make {shards} parts, but a group has {size} devices",
        )


@verifies("all-gather", "all-gather-start")
def verify_all_gather(scope: VerifiedScope, instr: Instruction, attrs: a.AllGather) -> None:
    """Groups are of one size, by which the joined dimension grows."""
    size = _verify_groups(scope, instr, attrs)
    result = instr.shape.elements[1] if instr.opcode == "all-gather-start" else instr.shape
    _verify_count(scope, instr, shard_count(attrs, _first(result), instr.operands[0].shape), size)


@verifies("reduce-scatter")
def verify_reduce_scatter(scope: VerifiedScope, instr: Instruction, attrs: a.ReduceScatter) -> None:
    """Groups are of one size, by which the cut dimension shrinks."""
    size = _verify_groups(scope, instr, attrs)
    _verify_count(
        scope, instr, shard_count(attrs, instr.operands[0].shape, _first(instr.shape)), size
    )
    _verify_fold(instr)


def _first(shape: Shape) -> Shape:
    return shape.elements[0] if shape.is_tuple else shape


@verifies("all-reduce", "all-reduce-start")
def verify_all_reduce(scope: VerifiedScope, instr: Instruction, attrs: a.AllReduce) -> None:
    """Groups may differ in size; a channel's number is positive."""
    _verify_groups(scope, instr, attrs, uniform=False)
    if attrs.channel_id is not None and attrs.channel_id <= 0:
        refuse(instr, "HLO068", f"channel_id is {attrs.channel_id}, but must be positive")
    _verify_fold(instr)


def _verify_fold(instr: Instruction) -> None:
    """The computation takes two values, of the operands' kind of number."""
    (fold,) = instr.called
    if len(fold.parameters) != 2:
        refuse(instr, "HLO040", f"{fold.name} must take 2 parameters")
    for scalar, operand in product((*fold.parameters, fold.root), instr.operands):
        element = operand.shape.with_dims(())
        if not compatible(scalar.shape, element, precision=False):
            problem = f"{fold.name} has {show(scalar.shape)}, but an element is {show(element)}"
            refuse(instr, "HLO040", problem)


@verifies("all-to-all")
def verify_all_to_all(scope: VerifiedScope, instr: Instruction, attrs: a.AllToAll) -> None:
    """Members of a group have a piece for each other: an operand, or a part of the one operand."""
    size = _verify_groups(scope, instr, attrs)
    if attrs.dimensions is None:
        if len(instr.operands) != size and size != 1:
            refuse(
                instr,
                "HLO066",
                f"{counted(len(instr.operands), 'operand')}, but a group has {size} devices",
            )
        return
    length = instr.operands[0].shape.dims[attrs.dimensions[0]]
    if length % size:
        refuse(instr, "HLO066", f"a dimension of {length} does not divide into {size} parts")


@verifies("ragged-all-to-all")
def verify_ragged_all_to_all(
    scope: VerifiedScope, instr: Instruction, attrs: a.RaggedAllToAll
) -> None:
    """Groups are of one size."""
    _verify_groups(scope, instr, attrs)


@verifies("collective-permute", "collective-permute-start")
def verify_collective_permute(
    scope: VerifiedScope, instr: Instruction, attrs: a.CollectivePermute
) -> None:
    """No device sends twice, none receives twice; in place, as often as there are slices."""
    known = (
        scope.outer.partitions if group_mode(instr) == "cross_partition" else scope.outer.replicas
    )
    allowed = 1
    if attrs.slice_sizes:
        offsets = instr.operands[2].shape
        nested = offsets.elements and offsets.elements[0].is_tuple
        array = instr.operands[0].shape.is_array
        columns = offsets.elements[0].elements if nested and not array else offsets.elements
        allowed = max(len(columns), 1)
    for pair in attrs.source_target_pairs:
        if len(pair) != 2:
            refuse(instr, "HLO067", f"source_target_pairs: {list(pair)} is no pair")
    for side, name in enumerate(("source", "target")):
        counts = Counter(pair[side] for pair in attrs.source_target_pairs)
        for device, count in counts.items():
            if device < 0 or (known != 1 and device >= known):
                refuse(instr, "HLO067", f"{name} {device}, but there are {known} devices")
            if count > allowed:
                refuse(instr, "HLO067", f"{name} {device} is in {counted(count, 'pair')}")


def verify_constrained_layouts(
    scope: VerifiedScope, first: Instruction | None
) -> Instruction | None:
    """All-reduces either all constrain their layout, or none does.

    Raises
    ------
    HloError
        HLO069 if both kinds occur in the module.
    """
    for instr in scope.computation.instructions:
        if instr.opcode not in ("all-reduce", "all-reduce-start"):
            continue
        first = first or instr
        if _constrains(first) != _constrains(instr):
            raise HloError(
                "HLO069",
                f"{instr.opcode}: constrain_layout differs from that of {first.name}",
                instr.span,
            )
    return first


def _constrains(instr: Instruction) -> bool:
    attrs = a.AllReduce.of(instr)
    return attrs.constrain_layout
