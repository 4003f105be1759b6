"""Opcodes that ask a device who it is, or exchange values with the host or one other device."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from interpreter.engine.arguments import checked
from interpreter.plumbing import CONTEXT
from interpreter.table import evaluates

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.engine.device import Device
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

    Route = tuple[Any, ...]

# The frontend attribute that says which devices a send or recv connects: {{0,1},{1,2}}.
PAIRS = "_xla_send_recv_source_target_pairs"


@evaluates("replica-id", xla="ReplicaId")
def evaluate_replica_id(frame: Frame, _instr: Instruction, _attrs: a.Attrs) -> Value:
    """The number of this replica, u32 of shape ()."""
    return np.array(frame.device.replica, np.uint32)


@evaluates("partition-id", xla="PartitionId")
def evaluate_partition_id(frame: Frame, _instr: Instruction, _attrs: a.Attrs) -> Value:
    """The number of this partition, u32 of shape ()."""
    return np.array(frame.device.partition, np.uint32)


@evaluates("infeed", xla="Infeed")
def evaluate_infeed(frame: Frame, instr: Instruction, _attrs: a.Infeed, _token: None) -> Value:
    """The next value of the device's infeed queue, and a token.

    Raises
    ------
    HloError
        HLO120 if the queue is empty, HLO111 or HLO112 if the value is of another shape.
    """
    return _from_queue(frame.device.infeed, instr, instr.shape.elements[0]), None


@evaluates("outfeed", xla="Outfeed")
def evaluate_outfeed(
    frame: Frame, _instr: Instruction, _attrs: a.Outfeed, operand: Value, _token: None
) -> None:
    """Put a value into the device's outfeed queue, and yield a token."""
    frame.device.outfeed.append(operand)


@evaluates("send", xla="Send; XLA's GPU backend for source-target pairs")
def evaluate_send(
    frame: Frame, instr: Instruction, attrs: a.Channel, operand: Value, _token: None
) -> Value:
    """Send a value to the host or another device, without waiting for anybody to take it.

    Returns
    -------
    tuple
        the operand, a context without meaning, and a token.
    """
    if attrs.is_host_transfer:
        frame.device.to_host.setdefault(attrs.channel_id, []).append(operand)
    else:
        for route in routes_of(frame.device, instr, attrs, end=0):
            frame.device.lockstep.put(route, operand)
    return operand, CONTEXT, None


@evaluates("send-done", xla="SendDone")
def evaluate_send_done(
    _frame: Frame, _instr: Instruction, _attrs: a.Channel, _started: Value
) -> None:
    """Yield a token: the value was sent by `send` already."""


@evaluates("recv", xla="Recv; XLA's GPU backend for source-target pairs")
def evaluate_recv(frame: Frame, instr: Instruction, attrs: a.Channel, _token: None) -> Value:
    """Say that something is to be received; recv-done takes it.

    Returns
    -------
    tuple
        zeros in the place of what will come, a context that tells recv-done from where, a token.
    """
    routes = [None] if attrs.is_host_transfer else routes_of(frame.device, instr, attrs, end=1)
    frame.device.receiving.append(routes)
    context = np.array(len(frame.device.receiving) - 1, np.uint32)
    return _zeros(instr.shape.elements[0]), context, None


@evaluates("recv-done", xla="RecvDone")
def evaluate_recv_done(
    frame: Frame, instr: Instruction, attrs: a.Channel, started: tuple[Value, ...]
) -> Value:
    """The value that the host or another device sent, and a token; zeros where there is no sender.

    Raises
    ------
    HloError
        HLO117 if the other device never sends; HLO118 if it sends another shape; HLO120 if the
        host has sent nothing.
    """
    shape = instr.shape.elements[0]
    routes = frame.device.receiving[int(started[1])]
    if not routes:
        return _zeros(shape), None
    if routes[0] is None:
        queue = frame.device.from_host.setdefault(attrs.channel_id, deque())
        return _from_queue(queue, instr, shape), None
    wanting = wanting_from(sender(routes[0]))
    value = frame.device.lockstep.take(frame.device.number, instr, routes[0], wanting)
    try:
        return checked(value, shape, "what was sent"), None
    except HloError as error:
        raise HloError("HLO118", f"{instr.name}: {error.message}") from None


def has_one_source(route: Route) -> bool:
    """Whether a route is one from a device to another."""
    return route[0] == "pair"


def sender(route: Route) -> str:
    """The sender on a route, in words."""
    return f"device {route[2]}" if has_one_source(route) else f"channel {route[1]}"


def wanting_from(name: str) -> str:
    """The thing that a device waits for, in words, given who is to send it."""
    return f"what {name} is to send"


def routes_of(device: Device, instr: Instruction, attrs: a.Channel, *, end: int) -> list[Route]:
    """The routes on which a device is at one end: 0 as the source, 1 as the target.

    Source-target pairs number the partitions, where there are several, and else the replicas.
    Messages of one pair are taken in the order in which they were sent, whatever their channel,
    as NCCL does it. Without pairs, whoever names the channel is meant.
    """
    written = instr.annotations.frontend_attributes
    text = written.get(PAIRS) if written else None
    if text is None:
        return [("channel", attrs.channel_id)]
    by_partition = device.lockstep.partitions > 1
    me, line = (device.partition, device.replica) if by_partition else (device.replica, 0)
    pairs = [(int(s), int(t)) for s, t in re.findall(r"\{(\d+),(\d+)\}", text)]
    return [("pair", line, *pair) for pair in pairs if pair[end] == me]


def other_end(route: Route, device: Device, end: int) -> int:
    """The device at an end of a route on which a device is; negative where it may be any.

    Parameters
    ----------
    end : 0 for the source, 1 for the target.
    """
    if route[0] != "pair":
        return -1
    _, line, *pair = route
    partitions = device.lockstep.partitions
    return line * partitions + pair[end] if partitions > 1 else pair[end]


def _from_queue(queue: deque[Value], instr: Instruction, shape: Shape) -> Value:
    if not queue:
        raise HloError("HLO120", f"{instr.name}: the host has sent nothing for {instr.opcode}")
    return checked(queue.popleft(), shape, f"{instr.name}: what the host sent")


def _zeros(shape: Shape) -> Value:
    if shape.is_tuple:
        return tuple(_zeros(element) for element in shape.elements)
    return np.zeros(shape.dims, shape.element_type.dtype) if shape.is_array else None
