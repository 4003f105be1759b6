"""Operations that speak to other devices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, did_you_mean
from hlo.frontends.stablehlo.meshes import mesh_in_place
from hlo.frontends.stablehlo.numbers import integer_of
from hlo.frontends.stablehlo.operation import Tagged
from hlo.frontends.stablehlo.operations.reductions import folding, promoted
from hlo.frontends.stablehlo.table import given, integers, translates
from hlo.types.element_type import U32
from hlo.types.shape import array, tuple_of
from hlo.types.sharding import ReplicaGroups, SubAxis
from hlo.types.shardy import ShardyError, part_of_axis

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]


def _channel(op: Operation) -> int | None:
    channel = given(op, "channel_handle", default="")
    handle = integer_of(channel.fields["handle"]) if isinstance(channel, Tagged) else 0
    return handle or None


def _groups(scope: RegionScope, op: Operation) -> ReplicaGroups:
    """The groups, as rows of devices or by axes of a mesh; short rows are filled with -1."""
    rows = given(op, "replica_groups")
    if isinstance(rows, Tagged):
        return _along_axes(scope, op, rows)
    lists = (tuple(integer_of(device) for device in row if device >= 0) for row in rows)
    return ReplicaGroups(tuple(row for row in lists if row))


def _along_axes(scope: RegionScope, op: Operation, groups: Tagged) -> ReplicaGroups:
    """The groups of `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [...]>`."""
    name, meshes = groups.fields["mesh"], scope.whole.program.meshes
    if isinstance(name, str) and name not in meshes:
        notes = did_you_mean(name, meshes)
        raise HloError("HLO013", f"there is no mesh @{name}", op.span, notes)
    mesh, axes = meshes[name] if isinstance(name, str) else mesh_in_place(name), list[SubAxis]()
    for axis in groups.fields["axes"]:
        part = axis.fields.get("sub_axis_info")
        sizes = [integer_of(part.fields[key]) for key in ("pre_size", "size")] if part else []
        named = str(axis.fields["name"])
        try:
            axes.append(part_of_axis(named, *sizes) if part else SubAxis(named))
        except ShardyError as error:
            raise HloError("HLO013", str(error), op.span) from None
        if axes[-1].name not in dict(mesh.axes):
            raise HloError("HLO013", f'the mesh has no axis "{axes[-1].name}"', op.span)
    return ReplicaGroups(mesh=mesh, axes=tuple(axes))


def _together(scope: RegionScope, op: Operation) -> dict[str, Any]:
    return {"channel_id": _channel(op), "replica_groups": _groups(scope, op)}


def _global(scope: RegionScope, op: Operation) -> dict[str, Any]:
    known = given(op, "use_global_device_ids", default=False) is not False
    return {**_together(scope, op), "use_global_device_ids": known}


@translates("stablehlo.replica_id", "stablehlo.partition_id")
def number(scope: RegionScope, op: Operation, _operands: Operands) -> Instruction:
    """The number of this device."""
    return scope.add(op.name.partition(".")[2].replace("_", "-"))


@translates("stablehlo.all_reduce")
def all_reduce(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The group's values, folded."""
    called = scope.computation("region", op.regions[0])
    operands = promoted(scope, operands, op.result_shapes)
    return scope.several(op, "all-reduce", *operands, called=(called,), **_global(scope, op))


@translates("stablehlo.cross-replica-sum")
def cross_replica_sum(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The group's values, added; today it is an all-reduce."""
    called = folding(scope, "add", operands[0].shape.element_type)
    return scope.add("all-reduce", *operands, called=(called,), **_together(scope, op))


@translates("stablehlo.reduce_scatter")
def reduce_scatter(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """An all-reduce, of which each device keeps its own piece."""
    called = scope.computation("region", op.regions[0])
    operands = promoted(scope, operands, op.result_shapes)
    return scope.add(
        "reduce-scatter", *operands, shape=op.result_shapes[0], called=(called,),
        dimensions=(integer_of(given(op, "scatter_dimension")),), **_global(scope, op),
    )  # fmt: skip


@translates("stablehlo.all_gather")
def all_gather(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The group's pieces, joined."""
    dimension = integer_of(given(op, "all_gather_dim"))
    shapes = op.result_shapes
    rest: dict[str, Any] = {"shape": shapes[0]} if len(shapes) == 1 else {}
    return scope.several(
        op, "all-gather", *operands, dimensions=(dimension,), **rest, **_global(scope, op)
    )


@translates("stablehlo.all_to_all")
def all_to_all(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Pieces go from each device to each; in HLO they are joined where they were cut.

    So what is joined along another dimension is moved there afterwards.
    """
    names = ("split_dimension", "concat_dimension", "split_count")
    cut, joined, count = (integer_of(given(op, name)) for name in names)
    if count < 1:
        raise HloError("HLO013", f"{op.name} splits into {count} parts", op.span)
    together = _together(scope, op)
    parts = [scope.add("all-to-all", x, dimensions=(cut,), **together) for x in operands]
    return parts if cut == joined else [_moved(scope, part, cut, joined, count) for part in parts]


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
def collective_broadcast(scope: RegionScope, op: Operation, operands: Operands) -> Operands:
    """The first of each group sends its values to the others."""
    if given(op, "has_dynamic_root", default=False) is True:
        message = "HLO has no broadcast from a device that a value names"
        raise HloError("HLO013", message, op.span)
    together = _together(scope, op)
    return [scope.add("collective-broadcast", operand, **together) for operand in operands]


@translates("custom_call.ragged_all_to_all")
def ragged_all_to_all(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Pieces of several sizes go from each device to each."""
    channel = integer_of(given(op, "channel_id", default=-1))
    return scope.add(
        "ragged-all-to-all", *operands, shape=op.result_shapes[0],
        channel_id=channel if channel > 0 else None, replica_groups=_groups(scope, op),
    )  # fmt: skip


# ------------------------------------------------- messages, and what goes on meanwhile


@translates("stablehlo.send")
def send(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Values go to the host or another device; in HLO it begins and ends."""
    *values, token = operands
    started = scope.add("send", scope.packed(values), token, **_message(scope, op))
    return scope.add("send-done", started, **_message(scope, op))


@translates("stablehlo.recv")
def recv(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Values come from the host or another device, and a token."""
    *shapes, token = op.result_shapes
    value = shapes[0] if len(shapes) == 1 else tuple_of(*shapes)
    message = _message(scope, op)
    started = scope.add("recv", *operands, shape=tuple_of(value, array(U32), token), **message)
    inside, done = scope.elements(scope.add("recv-done", started, **message))
    return [*scope.unpacked(inside, len(shapes)), done]


def _message(scope: RegionScope, op: Operation) -> dict[str, Any]:
    """The attributes of a message; which devices it goes between is a frontend attribute."""
    pairs = [integers(pair) for pair in given(op, "source_target_pairs", default=())]
    listed = "{" + ",".join(f"{{{source},{target}}}" for source, target in pairs) + "}"
    entries = {**given(op, "mhlo.frontend_attributes", default={})}
    if pairs:
        entries["_xla_send_recv_source_target_pairs"] = listed
    attributes = {**op.attributes, "mhlo.frontend_attributes": entries}
    said = scope.annotations(replace(op, attributes=attributes))
    is_host_transfer = given(op, "is_host_transfer", default=False) is True
    return {
        "channel_id": _channel(op),
        "is_host_transfer": is_host_transfer,
        "annotations": replace(said, sharding=None),
    }


@translates("stablehlo.async_start")
def async_start(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The start of a block that runs beside the next operations."""
    called = scope.computation("async", op.regions[0])
    return scope.add("async-start", *operands, called=(called,))


@translates("stablehlo.async_done")
def async_done(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The values of a block that began to run."""
    done = scope.add("async-done", *operands)
    return scope.unpacked(done, len(op.result_shapes))
