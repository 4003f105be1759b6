r"""Steps side by side: which stream each is on, and which steps of other streams it waits for.

    x --> a --> b --+          stream 0:  a  b        d (after b and c)
     \-> c --------+--> d     stream 1:  c

Two steps may run side by side where neither writes to bytes that the other reads or writes. So
memory that is used anew keeps its order, too. A step goes on the stream of a step that it needs, if
nothing came after that one; else it begins a branch on a stream of its own.

References
----------
XLA, `xla/backends/gpu/runtime/command_buffer_cmd.cc`, where commands of a command buffer wait for
those with conflicting buffer uses; `xla/runtime/buffer_use.h`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from codegen.program.steps import (
    Branch,
    BufferSlice,
    CollectiveStep,
    Copy,
    HostCall,
    Launch,
    While,
    uses,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.program.steps import Step, Work

# Cooperative launches take all multiprocessors, and those of one kernel share a counter: as if they
# wrote to one place.
_WHOLE_GPU = BufferSlice("arena", -1, 0, 1)
# All devices must begin their collectives in one order.
_LINKS = BufferSlice("arena", -2, 0, 1)
# More of them at once fill no GPU better.
MOST_STREAMS = 4
# Steps of a loop that the host issues one after the other, as a part of a graph. In the body of a
# conditional node several iterations take longer: measured on an H200, 29 us for each of an LSTM's,
# where 19 us are enough for a body of one.
MOST_UNROLLED = 256


@dataclass(frozen=True, slots=True)
class Queued:
    """A step on a stream.

    Attributes
    ----------
    after : numbers of steps on other streams that must have ended before it begins.
    awaited : whether steps on other streams wait for it.
    """

    step: Work
    stream: int
    after: tuple[int, ...] = ()
    awaited: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Steps between which the host decides nothing."""

    queue: tuple[Queued, ...]

    @property
    def streams(self) -> tuple[int, ...]:
        """The numbers of the streams that are used beside stream 0."""
        return tuple(sorted({piece.stream for piece in self.queue} - {0}))


@dataclass(frozen=True, slots=True, eq=False)
class Iterations:
    """A loop over segments, as `While`.

    Attributes
    ----------
    begin : the condition, for the first time.
    early : the steps of the body and the condition after it, until the next predicate is known.
    late : the rest of the body, which the host need not wait for. Of a loop that counts to a
        constant, the condition, which only a conditional node asks.
    """

    step: While
    begin: tuple[Part, ...]
    early: tuple[Part, ...]
    late: tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of several lists of segments, as `Branch`."""

    step: Branch
    branches: tuple[tuple[Part, ...], ...]


Part = Segment | HostCall | Iterations | Choice


def parts(steps: Sequence[Step], streams: int = MOST_STREAMS) -> tuple[Part, ...]:
    """Steps in segments, and the host's decisions between them.

    Parameters
    ----------
    streams : how many there are, at least 1.
    """
    sequence: list[Part] = []
    waiting: list[Work] = []
    for step in steps:
        if not isinstance(step, HostCall | While | Branch):
            waiting.append(step)
            continue
        if isinstance(step, While) and (flat := _unrolled(step)) is not None:
            waiting += flat
            continue
        sequence += [side_by_side(waiting, streams)] if waiting else []
        waiting = []
        if isinstance(step, HostCall):
            sequence.append(step)
        elif isinstance(step, While):
            early, late = (parts(part, streams) for part in _split(step, streams))
            sequence.append(Iterations(step, parts(step.condition, streams), early, late))
        else:
            sequence.append(Choice(step, tuple(parts(b, streams) for b in step.branches)))
    return (*sequence, *([side_by_side(waiting, streams)] if waiting else []))


def _split(loop: While, streams: int) -> tuple[Sequence[Step], Sequence[Step]]:
    """An iteration until its predicate is known, and the rest."""
    if loop.trips is not None:
        return loop.body, loop.condition
    steps = [*loop.body, *loop.condition]
    if streams == 1:
        # The order stays as it is.
        return steps, ()
    # After the last loop or branch, steps that the predicate does not need can wait.
    tail: list[Work] = []
    for step in reversed(steps):
        if isinstance(step, HostCall | While | Branch):
            break
        tail.insert(0, step)
    del steps[len(steps) - len(tail) :]
    ask = Copy(BufferSlice("result", -1), loop.predicate, 1)
    needs = [*_needs([*tail, ask])]
    early, open_ = set[int](), [*needs[-1]]
    while open_:
        number = open_.pop()
        if number not in early:
            early.add(number)
            open_ += needs[number]
    steps += [step for number, step in enumerate(tail) if number in early]
    return steps, [step for number, step in enumerate(tail) if number not in early]


def _unrolled(loop: While) -> list[Work] | None:
    """All that a short loop of a known trip count does; None for others."""
    if loop.trips is None:
        return None
    body: list[Work] = []
    for step in loop.body:
        inside = _unrolled(step) if isinstance(step, While) else [step]
        if inside is None or any(isinstance(piece, HostCall | Branch | While) for piece in inside):
            return None
        body += cast("list[Work]", inside)
    return body * loop.trips if len(body) * loop.trips <= MOST_UNROLLED else None


def side_by_side(steps: Sequence[Work], streams: int) -> Segment:
    """Steps on streams, each after those that it must wait for."""
    on: list[int] = []
    last: dict[int, int] = {}
    # For each step, by stream: the last step there that has ended before it.
    ended: list[dict[int, int]] = []
    waits: list[tuple[int, ...]] = []
    for number, needed in enumerate(_needs(steps)):
        stream = _stream(needed, on, last, streams)
        reached: dict[int, int] = dict(ended[last[stream]]) if stream in last else {}
        if stream in last:
            reached[stream] = last[stream]
        after: list[int] = []
        for segment in sorted(needed, reverse=True):
            if reached.get(on[segment], -1) >= segment:
                continue
            after.append(segment)
            for there, until in (*ended[segment].items(), (on[segment], segment)):
                reached[there] = max(reached.get(there, -1), until)
        on.append(stream)
        last[stream] = number
        ended.append(reached)
        waits.append(tuple(reversed(after)))
    awaited = {segment for after in waits for segment in after}
    return Segment(
        tuple(Queued(step, on[k], waits[k], awaited=k in awaited) for k, step in enumerate(steps))
    )


def _stream(needed: set[int], on: Sequence[int], last: dict[int, int], streams: int) -> int:
    """The stream of a step: of the newest that it needs and nothing follows, or another one."""
    for segment in sorted(needed, reverse=True):
        if last[on[segment]] == segment:
            return on[segment]
    unused = next((k for k in range(streams) if k not in last), None)
    return unused if unused is not None else min(last, key=lambda k: last[k])


def _needs(steps: Sequence[Work]) -> Iterator[set[int]]:
    """For each step, the earlier ones that it must come after."""
    # The accesses to a buffer: the slice, whether it was written to, and by which step.
    history: dict[tuple[str, int], list[tuple[BufferSlice, bool, int]]] = {}
    for number, step in enumerate(steps):
        needed: set[int] = set()
        for used, writes in uses_of_buffers(step):
            before = history.setdefault((used.memory, used.number), [])
            earlier: list[tuple[BufferSlice, bool, int]] = []
            for entry in before:
                other, wrote, by = entry
                if by != number and (writes or wrote) and used.overlaps(other):
                    needed.add(by)
                    # A step that comes after this write comes after the earlier ones, too.
                    if writes and _covers(used, other):
                        continue
                earlier.append(entry)
            earlier.append((used, writes, number))
            history[used.memory, used.number] = earlier
        yield needed


def uses_of_buffers(step: Work) -> Iterator[tuple[BufferSlice, bool]]:
    """The memory that a step uses, and whether it may write to it."""
    if isinstance(step, Launch) and step.cooperative:
        yield _WHOLE_GPU, True
    if isinstance(step, CollectiveStep):
        yield _LINKS, True
    for used, wrote in uses(step):
        assert isinstance(used, BufferSlice)
        if used.memory != "constant":
            yield used, wrote


def _covers(used: BufferSlice, other: BufferSlice) -> bool:
    ends = used.offset + used.size >= other.offset + other.size
    return used.offset <= other.offset and ends
