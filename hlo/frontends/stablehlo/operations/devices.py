"""Operations that speak to other devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.frontends.stablehlo.operation import Tagged
from hlo.frontends.stablehlo.table import given, integers, translates
from hlo.types.shape import array
from hlo.types.sharding import ReplicaGroups

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]


def _channel(op: Operation) -> int | None:
    found = given(op, "channel_handle", default="")
    handle = int(found.fields["handle"]) if isinstance(found, Tagged) else 0
    return handle or None


def _groups(op: Operation) -> ReplicaGroups:
    """The groups; rows that are shorter than others are filled with -1."""
    rows = given(op, "replica_groups")
    lists = (tuple(int(device) for device in row if device >= 0) for row in rows)
    return ReplicaGroups(tuple(row for row in lists if row))


def _together(op: Operation) -> dict[str, Any]:
    return {"channel_id": _channel(op), "replica_groups": _groups(op)}


def _global(op: Operation) -> dict[str, Any]:
    known = given(op, "use_global_device_ids", default=False) is not False
    return {**_together(op), "use_global_device_ids": known}


@translates("stablehlo.replica_id", "stablehlo.partition_id")
def number(scope: RegionScope, op: Operation, _operands: Operands) -> Instruction:
    """The number of this device."""
    return scope.add(op.name.partition(".")[2].replace("_", "-"))


@translates("stablehlo.all_reduce")
def all_reduce(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The group's values, folded."""
    called = scope.computation("region", op.regions[0])
    return scope.several(op, "all-reduce", *operands, called=(called,), **_global(op))


@translates("stablehlo.reduce_scatter")
def reduce_scatter(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """An all-reduce, of which each device keeps its own piece."""
    called = scope.computation("region", op.regions[0])
    return scope.add(
        "reduce-scatter", *operands, shape=op.result_shapes[0], called=(called,),
        dimensions=(int(given(op, "scatter_dimension")),), **_global(op),
    )  # fmt: skip


@translates("stablehlo.all_gather")
def all_gather(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The group's pieces, joined."""
    dimension = int(given(op, "all_gather_dim"))
    shapes = op.result_shapes
    rest: dict[str, Any] = {"shape": shapes[0]} if len(shapes) == 1 else {}
    return scope.several(
        op, "all-gather", *operands, dimensions=(dimension,), **rest, **_global(op)
    )


@translates("stablehlo.all_to_all")
def all_to_all(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Pieces go from each device to each; in HLO they are joined where they were cut.

    So what is joined along another dimension is moved there afterwards.
    """
    cut, joined = int(given(op, "split_dimension")), int(given(op, "concat_dimension"))
    count = int(given(op, "split_count"))
    made = [scope.add("all-to-all", o, dimensions=(cut,), **_together(op)) for o in operands]
    return made if cut == joined else [_moved(scope, each, cut, joined, count) for each in made]


def _moved(
    scope: RegionScope, value: Instruction, cut: int, joined: int, count: int
) -> Instruction:
    """Pieces along one dimension, laid along another."""
    kind, dims = value.shape.element_type, value.shape.dims
    apart = (*dims[:cut], count, dims[cut] // count, *dims[cut + 1 :])
    pieces = scope.add("reshape", value, shape=array(kind, apart))
    # The dimension of pieces goes in front of the one along which they are joined.
    others = [d for d in range(len(apart)) if d != cut]
    order = (*others[:joined], cut, *others[joined:])
    moved = scope.add("transpose", pieces, dimensions=order)
    after = [apart[d] for d in order]
    after[joined : joined + 2] = [after[joined] * after[joined + 1]]
    return scope.add("reshape", moved, shape=array(kind, tuple(after)))


@translates("stablehlo.collective_permute")
def collective_permute(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Values go from sources to targets."""
    pairs = tuple(integers(pair) for pair in given(op, "source_target_pairs"))
    return scope.add(
        "collective-permute", *operands, channel_id=_channel(op), source_target_pairs=pairs
    )


@translates("stablehlo.collective_broadcast")
def collective_broadcast(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The first of each group sends its value to the others."""
    return scope.add("collective-broadcast", *operands, **_together(op))


@translates("custom_call.ragged_all_to_all")
def ragged_all_to_all(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Pieces of several sizes go from each device to each."""
    channel = int(given(op, "channel_id", default=-1))
    return scope.add(
        "ragged-all-to-all", *operands, shape=op.result_shapes[0],
        channel_id=channel if channel > 0 else None, replica_groups=_groups(op),
    )  # fmt: skip
