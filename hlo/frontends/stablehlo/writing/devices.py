"""Opcodes that exchange values with other devices, or with the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes import (
    AllToAll,
    Channel,
    CollectiveBroadcast,
    CollectivePermute,
    Infeed,
    Outfeed,
    RaggedAllToAll,
)
from hlo.frontends.stablehlo.writing.movement import one, reshaped
from hlo.frontends.stablehlo.writing.reductions import several
from hlo.frontends.stablehlo.writing.table import Tree, unsayable, writes
from hlo.frontends.stablehlo.writing.trees import leaves, packed
from hlo.frontends.stablehlo.writing.types import dictionary, matrix, numbers, string, truth
from hlo.types.shape import TOKEN_SHAPE, array

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.writing.operation import MlirValue
    from hlo.frontends.stablehlo.writing.table import WritingScope
    from hlo.instruction import Instruction

# Kinds of channels: from device to device, from device to host, and back.
_DEVICES, _TO_HOST, _FROM_HOST = 1, 2, 3


def _channel(number: int | None, kind: int = _DEVICES) -> dict[str, str]:
    if number is None:
        return {}
    handle = f"#stablehlo.channel_handle<handle = {number}, type = {kind}>"
    return {"channel_handle": handle}


def _together(instr: Instruction) -> dict[str, str]:
    """Groups of devices that work together, and how they are numbered."""
    attrs: Any = instr.attrs
    if getattr(attrs, "mode", ""):
        raise unsayable(instr, f"mode `{attrs.mode}`")
    pairs = {"replica_groups": matrix(attrs.replica_groups.groups()), **_channel(attrs.channel_id)}
    if getattr(attrs, "use_global_device_ids", False):
        pairs["use_global_device_ids"] = ""
    return pairs


@writes("all-reduce", "all-reduce-start")
def all_reduce(scope: WritingScope, instr: Instruction) -> Tree:
    """The group's values, folded."""
    return several(scope, instr, "stablehlo.all_reduce", _together(instr))


@writes("reduce-scatter")
def reduce_scatter(scope: WritingScope, instr: Instruction) -> Tree:
    """An all-reduce, of which each device keeps its own piece."""
    attrs: Any = instr.attrs
    if len(instr.operands) > 1:
        raise unsayable(instr, "reduce_scatter of several arrays")
    cut = {"scatter_dimension": f"{attrs.dimensions[0]} : i64"}
    return several(scope, instr, "stablehlo.reduce_scatter", {**cut, **_together(instr)})


@writes("all-gather", "all-gather-start")
def all_gather(scope: WritingScope, instr: Instruction) -> Tree:
    """The group's pieces, joined."""
    attrs: Any = instr.attrs
    shape = instr.shape.elements[1] if instr.opcode == "all-gather-start" else instr.shape
    shapes = shape.elements if shape.is_tuple else (shape,)
    operands = [scope.value(operand) for operand in instr.operands]
    joined = {"all_gather_dim": f"{attrs.dimensions[0]} : i64", **_together(instr)}
    return packed(scope.op("stablehlo.all_gather", operands, shapes, joined), shape)


@writes("all-to-all")
def all_to_all(scope: WritingScope, instr: Instruction) -> Tree:
    """Pieces go from each device to each: of one array, or each operand is a piece."""
    attrs = AllToAll.of(instr)
    if attrs.dimensions is not None:
        (along,) = attrs.dimensions
        groups, header = attrs.replica_groups.groups(), scope.header
        everyone = header.replica_count if attrs.channel_id is None else header.num_partitions
        count = len(groups[0]) if groups else everyone
        return one(scope, instr, "all_to_all", {**_cut(along, count), **_named(instr, count)})
    shape, count = instr.operands[0].shape, len(instr.operands)
    front = array(shape.element_type, (1, *shape.dims))
    stack = array(shape.element_type, (count, *shape.dims))
    pieces = [reshaped(scope, scope.value(operand), front) for operand in instr.operands]
    whole = scope.op("stablehlo.concatenate", pieces, [stack], {"dimension": "0 : i64"})
    moved = scope.op(
        "stablehlo.all_to_all", whole, [stack], {**_cut(0, count), **_named(instr, count)}
    )
    parts: list[MlirValue] = []
    for k in range(count):
        at = {
            "start_indices": numbers([k, *[0] * shape.rank]),
            "limit_indices": numbers([k + 1, *shape.dims]),
            "strides": numbers([1] * (shape.rank + 1)),
        }
        (piece,) = scope.op("stablehlo.slice", moved, [front], at)
        parts.append(reshaped(scope, piece, shape))
    return tuple(parts) if instr.shape.is_tuple else parts[0]


def _named(instr: Instruction, count: int) -> dict[str, str]:
    """Groups; XLA asks for the devices where HLO text leaves them out."""
    attributes = _together(instr)
    if not AllToAll.of(instr).replica_groups.groups():
        attributes["replica_groups"] = matrix([range(count)])
    return attributes


def _cut(dimension: int, count: int) -> dict[str, str]:
    return {
        "split_dimension": f"{dimension} : i64",
        "concat_dimension": f"{dimension} : i64",
        "split_count": f"{count} : i64",
    }


@writes("ragged-all-to-all")
def ragged_all_to_all(scope: WritingScope, instr: Instruction) -> Tree:
    """Pieces of several sizes go from each device to each; XLA has a custom call for it."""
    config = {
        "replica_groups": _together(instr)["replica_groups"],
        # XLA asks for a number, and takes 0 for none.
        "channel_id": f"{RaggedAllToAll.of(instr).channel_id or 0} : i64",
    }
    attributes = {
        "call_target_name": string("ragged_all_to_all"),
        "api_version": "4 : i32",
        "backend_config": dictionary(config),
    }
    return one(scope, instr, "custom_call", attributes)


@writes("collective-permute", "collective-permute-start")
def collective_permute(scope: WritingScope, instr: Instruction) -> Tree:
    """Values go from sources to targets."""
    attrs = CollectivePermute.of(instr)
    if attrs.slice_sizes:
        raise unsayable(instr, "collective_permute in place")
    shape = instr.shape.elements[1] if instr.opcode.endswith("start") else instr.shape
    shapes = shape.elements if shape.is_tuple else (shape,)
    pairs = matrix(attrs.source_target_pairs, 2)
    attributes = {"source_target_pairs": pairs, **_channel(attrs.channel_id)}
    values = [
        scope.op("stablehlo.collective_permute", [scope.value(operand)], [shape], attributes)[0]
        for operand, shape in zip(instr.operands, shapes, strict=True)
    ]
    return packed(values, shape)


@writes("collective-broadcast")
def collective_broadcast(scope: WritingScope, instr: Instruction) -> Tree:
    """The first of each group sends its value to the others."""
    if CollectiveBroadcast.of(instr).has_dynamic_root or len(instr.operands) > 1:
        raise unsayable(instr, "collective_broadcast with a root of run time, or of several arrays")
    return one(scope, instr, "collective_broadcast", _together(instr))


@writes("infeed")
def infeed(scope: WritingScope, instr: Instruction) -> Tree:
    """The next value of the infeed queue, and a token."""
    value, _ = instr.shape.elements
    shapes = [*(leaf for _, leaf in value.leaves()), TOKEN_SHAPE]
    config = {"infeed_config": string(Infeed.of(instr).infeed_config)}
    values = scope.op("stablehlo.infeed", [scope.value(instr.operands[0])], shapes, config)
    return packed(values[:-1], value), values[-1]


@writes("outfeed")
def outfeed(scope: WritingScope, instr: Instruction) -> Tree:
    """Puts values into the outfeed queue."""
    value, token = instr.operands
    operands = [*leaves(scope.tree(value)), scope.value(token)]
    config = {"outfeed_config": string(Outfeed.of(instr).outfeed_config)}
    return scope.op("stablehlo.outfeed", operands, [instr.shape], config)[0]


def _channel_of(instr: Instruction, host: int) -> dict[str, str]:
    attrs = Channel.of(instr)
    kind = host if attrs.is_host_transfer else _DEVICES
    handle = _channel(attrs.channel_id or 0, kind)
    return {**handle, "is_host_transfer": truth(attrs.is_host_transfer)}


@writes("send")
def send(scope: WritingScope, instr: Instruction) -> Tree:
    """Sends values through a channel; send-done waits for the token."""
    value, token = instr.operands
    operands = [*leaves(scope.tree(value)), scope.value(token)]
    return scope.op("stablehlo.send", operands, [TOKEN_SHAPE], _channel_of(instr, _TO_HOST))[0]


@writes("recv")
def recv(scope: WritingScope, instr: Instruction) -> Tree:
    """Receives values through a channel; recv-done gives them, and a token."""
    value = instr.shape.elements[0]
    shapes = [*(leaf for _, leaf in value.leaves()), TOKEN_SHAPE]
    attributes = _channel_of(instr, _FROM_HOST)
    values = scope.op("stablehlo.recv", [scope.value(instr.operands[0])], shapes, attributes)
    return packed(values[:-1], value), values[-1]
