"""Collectives as rounds of messages: which device sends how many bytes to which.

| collective | algorithms | rounds |
| --- | --- | --- |
| all-reduce | ring | 2 (n - 1), of a part each |
| | halving and doubling, if n is a power of 2 | 2 log n: halves, quarters, ..., and back |
| reduce-scatter, all-gather | ring; halving or doubling | half of these |
| all-to-all | pairwise | n - 1: to the next device, the one after it, ... |
| collective-permute | direct | 1 |
| collective-broadcast | doubling | log n |

Who runs a collective takes the algorithm that is fastest on its links; for large arrays that is the
ring, which no link has to pass twice, and for small ones the one of few rounds.

References
----------
Thakur, Rabenseifner, Gropp, *Optimization of Collective Communication Operations in MPICH*, 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import Collective, CollectivePermute
from interpreter.groups import device_groups, device_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from optimizer.topology.links import Topology

    Numbers = NDArray[Any]
    Grid = tuple[int, int]


@dataclass(frozen=True)
class MessageRound:
    """Messages that are sent at the same time.

    Attributes
    ----------
    sources, targets : the devices of each message.
    size : bytes of a message.
    times : how many rounds are alike.
    """

    sources: Numbers
    targets: Numbers
    size: float
    times: int = 1

    def seconds(self, topology: Topology) -> float:
        """The time on some links."""
        messages, hops = topology.load(self.sources, self.targets)
        each = hops * topology.latency + messages * self.size / topology.bandwidth
        return self.times * each


@dataclass(frozen=True)
class CollectiveTime:
    """One run of a collective.

    Attributes
    ----------
    algorithm : the fastest one.
    """

    algorithm: str
    seconds: float


def collective_of(instr: Instruction) -> Instruction | None:
    """The collective that an instruction is or starts, if any."""
    inner = instr.called[0].root if instr.opcode == "async-start" else instr
    return inner if "collective" in inner.row.traits else None


def bytes_moved(instr: Instruction, grid: Grid) -> int:
    """The bytes that a device receives in one run of a collective; 0 for other instructions.

    Parameters
    ----------
    grid : the numbers of replicas and of partitions.
    """
    inner = collective_of(instr)
    if inner is None:
        return 0
    kind, sent = _kind(inner), _sent(inner)
    if isinstance(inner.attrs, CollectivePermute):
        return sent if any(a != b for a, b in device_pairs(inner.attrs, *grid)) else 0
    count = max(map(len, _groups(inner, grid)), default=1)
    others = {"all-reduce": 2 * (count - 1) / count, "all-gather": count - 1}
    return round(sent * others.get(kind, 1 if kind == "collective-broadcast" and count > 1
                                   else (count - 1) / count))  # fmt: skip


def collective_time(instr: Instruction, grid: Grid, topology: Topology) -> CollectiveTime:
    """The time of a collective by its fastest algorithm."""
    inner = collective_of(instr)
    assert inner, "a collective"
    best = CollectiveTime("", 0.0)
    for name, rounds in _algorithms(inner, grid):
        spent = sum(step.seconds(topology) for step in rounds)
        if not best.algorithm or spent < best.seconds:
            best = CollectiveTime(name, spent)
    return best


def _kind(instr: Instruction) -> str:
    return instr.opcode.removesuffix("-start")


def _sent(instr: Instruction) -> int:
    """The bytes of the operands; a ragged all-to-all's others are numbers."""
    operands = instr.operands[:1] if instr.opcode == "ragged-all-to-all" else instr.operands
    return sum(o.shape.bytes for o in operands)


def _groups(instr: Instruction, grid: Grid) -> tuple[tuple[int, ...], ...]:
    return device_groups(instr, cast("Collective", instr.attrs), *grid)


def _algorithms(instr: Instruction, grid: Grid) -> Iterator[tuple[str, list[MessageRound]]]:
    """The ways to run a collective, by name."""
    sent, kind = _sent(instr), _kind(instr)
    if isinstance(instr.attrs, CollectivePermute):
        pairs = np.array(device_pairs(instr.attrs, *grid), np.int64).reshape(-1, 2)
        yield "direct", [MessageRound(pairs[:, 0], pairs[:, 1], sent)]
        return
    groups = _groups(instr, grid)
    count = max(map(len, groups), default=1)
    if count == 1:
        return
    members = np.array([g for g in groups if len(g) == count], np.int64)

    def to_next(distance: int, size: float, times: int = 1) -> MessageRound:
        targets = np.roll(members, -distance, axis=1)
        return MessageRound(members.ravel(), targets.ravel(), size, times)

    def exchanged(distance: int, size: float, times: int = 1) -> MessageRound:
        targets = members[:, np.arange(count) ^ distance]
        return MessageRound(members.ravel(), targets.ravel(), size, times)

    powers = [1 << k for k in range(count.bit_length() - 1)]
    even = count & (count - 1) == 0
    if kind == "all-reduce":
        yield "ring", [to_next(1, sent / count, 2 * (count - 1))]
        if even:
            yield "halving and doubling", [exchanged(p, sent / count * p, 2) for p in powers]
            yield "doubling", [exchanged(p, sent) for p in powers]
    elif kind in ("all-gather", "reduce-scatter"):
        part = sent if kind == "all-gather" else sent / count
        yield "ring", [to_next(1, part, count - 1)]
        if even:
            name = "doubling" if kind == "all-gather" else "halving"
            yield name, [exchanged(p, part * p) for p in powers]
    elif kind == "collective-broadcast":
        yield "doubling", [
            MessageRound(members[:, :p].ravel(), members[:, p : 2 * p].ravel(), sent)
            for p in powers
        ] if even else [to_next(1, sent, count - 1)]  # fmt: skip
    else:
        yield "pairwise", [to_next(n, sent / count) for n in range(1, count)]
