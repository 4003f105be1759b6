"""Moves small kernels that need not wait for each other onto streams of their own.

Kernels are dealt out as a list scheduler would: the one with the longest way to the end first, to
the stream where it can begin soonest; the main stream, if that is as good. One on another stream
becomes an async-start with the stream's number and an async-done. Kernels that fill the device by
themselves stay on the main stream: beside another they would only run more slowly. So do updates in
place: what an async-start reads must be there until it is done, and would have to be copied.

A module with a schedule stays as it is. A start and its done would be side by side in it, and
nothing would run between them; but values that took each other's memory would need copies.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import CONTROL, SEQUENTIAL, STARTS
from hlo.walk import names_of
from optimizer.analysis.alias import DEFAULT
from optimizer.analysis.cost import cost
from optimizer.gpu.async_pairs import pair
from optimizer.gpu.device import A100, COMPUTE, lane, runs, seconds
from optimizer.gpu.paths import needed_by, paths_to_end
from optimizer.passes import register
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.gpu.device import DeviceRates
    from optimizer.log import Log

# The stream of values that are there from the start.
ANYWHERE = -1
# Seconds until another stream sees that a kernel has ended.
EVENT = 1e-6


@register
@dataclass(frozen=True)
class AsyncWrapper:
    """Spreads small kernels over streams.

    Attributes
    ----------
    streams : at most, the main one included.
    """

    name = "async-wrapper"
    xla = (
        "xla/service/gpu/transforms/async_wrapper.cc and "
        "xla/service/gpu/execution_stream_assignment.cc; XLA moves only what it is told to"
    )
    streams: int = 4

    def run(self, module: Module, log: Log) -> Module:
        """The module with kernels on several streams."""
        if module.header.is_scheduled:
            return module
        names = names_of(module)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            if computation.name not in parallel:
                return
            for instr, stream in assigned(computation, self.streams, A100).items():
                # The text of a pair has one place for a sharding, and it belongs to the pair.
                if stream and instr.annotations.sharding is None:
                    new = pair(instr, names, f'{{"operation_queue_id":"{stream}"}}')
                    rewrites.add("wrap", instr, *new)

        parallel = _sequences(module)
        return rewrite_sites(module, log, visit)


def _sequences(module: Module) -> set[str]:
    """The computations that run as sequences of kernels and have no streams yet."""
    names, pending = set[str](), [module.entry]
    while pending:
        computation = pending.pop()
        if computation.name in names:
            continue
        names.add(computation.name)
        for instr in computation.instructions:
            if instr.opcode in CONTROL:
                pending += instr.called
    split = {c.name for c in module.computations for i in c.instructions if i.opcode in STARTS}
    return names - split


def assigned(computation: Computation, streams: int, device: DeviceRates) -> dict[Instruction, int]:
    """The stream of each small kernel.

    Parameters
    ----------
    streams : at most; 0 is the main one.
    """
    users, paths = needed_by(computation), paths_to_end(computation, device)
    waits = {i: len({*i.operands, *i.control_predecessors}) for i in computation.instructions}
    number = {i: n for n, i in enumerate(computation.instructions)}
    ready = [(-paths[i], number[i], i) for i in computation.instructions if not waits[i]]
    heapq.heapify(ready)
    free = [0.0] * streams
    ends: dict[Instruction, tuple[float, int]] = {}
    stream_of: dict[Instruction, int] = {}
    while ready:
        _, _, instr = heapq.heappop(ready)
        before = [ends[i] for i in (*instr.operands, *instr.control_predecessors)]
        if not runs(instr):
            ends[instr] = max(before, default=(0.0, ANYWHERE))
        else:
            begins, stream = _soonest(instr, before, free, device)
            free[stream] = begins + seconds(instr, device)
            ends[instr] = free[stream], stream
        if is_kernel(instr):
            stream_of[instr] = ends[instr][1]
        for user in users[instr]:
            waits[user] -= 1
            if not waits[user]:
                heapq.heappush(ready, (-paths[user], number[user], user))
    return stream_of


def is_kernel(instr: Instruction) -> bool:
    """Whether an instruction becomes a kernel or a call of a library."""
    computes = instr.row.pure and instr.opcode not in SEQUENTIAL
    return computes and runs(instr) and lane(instr) == COMPUTE


def _soonest(
    instr: Instruction, before: list[tuple[float, int]], free: list[float], device: DeviceRates
) -> tuple[float, int]:
    """The earliest start of an instruction, and its stream.

    Parameters
    ----------
    before : when what it needs ends, and on which stream.
    free : when each stream is free.
    """
    small = is_kernel(instr) and cost(instr).bytes_accessed < device.full and instr.shape.is_array
    small = small and not DEFAULT.must_share(instr)
    options: list[tuple[float, int]] = []
    for stream in range(len(free) if small else 1):
        there = [end + EVENT * (on not in (stream, ANYWHERE)) for end, on in before]
        options.append((max([free[stream], *there]), stream))
    return min(options)
