"""Custom calls around a computation that each device runs on its part of some arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import CustomCall
from hlo.errors.error import HloError
from hlo.infer.checks import show
from hlo.sharded import CUTS, JOINS, cut_values, resharding
from hlo.wording import counted
from interpreter.custom_calls.registry import custom_call
from interpreter.custom_calls.signatures import checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.sharded import Shards
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

    Array = np.ndarray[Any, Any]


@custom_call(*CUTS, *JOINS)
def reshard(frame: Frame, instr: Instruction, *operands: Array) -> Value:
    """The part of each operand that this device holds; or the whole of each, whose part it is.

    Where whole and part have one shape, each operand stays as it is.

    Raises
    ------
    HloError
        HLO122 if the call does not say which parts the devices hold, or names other devices;
        HLO117 or HLO118 if they do not meet.

    References
    ----------
    XLA's SPMD partitioner and Shardy's import.
    """
    pairs = cut_values(instr)
    values = list(operands)
    if any(whole.dims != part.dims for whole, part in pairs):
        parts = resharding(instr, frame.device.lockstep.meshes)
        refuse_other_devices(instr, parts, frame.device.lockstep.partitions)
        cuts = CustomCall.of(instr).custom_call_target in CUTS
        turn = _part if cuts else _joined
        values = [
            turn(frame, instr, part, value) for part, value in zip(parts, operands, strict=True)
        ]
    return tuple(values) if instr.shape.is_tuple else values[0]


def refuse_other_devices(instr: Instruction, parts: Sequence[Shards], partitions: int) -> None:
    """See that each device of a replica holds one part of each value that is cut.

    Raises
    ------
    HloError
        HLO122 if another device is named, or if one holds no part.
    """
    for part in parts:
        held = {device for group in part.groups for device in group}
        if not part.is_whole and held != set(range(partitions)):
            message = f"{instr.name}: its sharding is for {len(held)} of {partitions} devices"
            note = "`num_partitions` must be the number of devices of the mesh or the tiles"
            raise HloError("HLO122", message, instr.span, [note])


def _part(frame: Frame, _instr: Instruction, parts: Shards, whole: Array) -> Value:
    """The part that a device holds."""
    if parts.is_whole:
        return whole
    place = parts.places[frame.device.partition]
    sizes = [size // count for size, count in zip(whole.shape, parts.counts, strict=True)]
    return whole[
        tuple(slice(n * size, (n + 1) * size) for n, size in zip(place, sizes, strict=True))
    ]


def _joined(frame: Frame, instr: Instruction, parts: Shards, part: Array) -> Value:
    """The array that the parts of a device's group make."""
    if parts.is_whole:
        return part
    device = frame.device
    first = device.replica * device.lockstep.partitions
    group = tuple(first + member for member in parts.group(device.partition))
    brought = device.lockstep.meet(device.number, instr, group, None, part)
    apart = np.stack([brought[member] for member in group]).reshape(*parts.counts, *part.shape)
    rank = part.ndim
    order = [axis for dim in range(rank) for axis in (dim, rank + dim)]
    sizes = [count * size for count, size in zip(parts.counts, part.shape, strict=True)]
    return apart.transpose(order).reshape(sizes)


@checked(*CUTS, *JOINS, note="the whole -> a part, or a part -> the whole")
def check_reshard(instr: Instruction, _options: Options | None) -> str:
    """The fault in the types and ranks of `reshard`, which looks at sizes itself."""
    results = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    if len(results) != len(instr.operands):
        return f"gives {counted(len(instr.operands), 'array')}, not {len(results)}"
    for operand, result in zip(instr.operands, results, strict=True):
        shape = operand.shape
        if shape.element_type is not result.element_type or shape.rank != result.rank:
            return f"makes no {show(result)} of {show(shape)}"
    return ""
