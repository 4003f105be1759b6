"""Loops with double buffering: the old and the next state swap buffers, instead of being copied.

    for (;;) {                          for (;;) {
      if (!condition(x)) break;           if (!condition(x)) break;
      y = step(x);                        y = step(x);
      copy y to x;              =>        if (!condition(y)) { copy y to x; break; }
    }                                     x = step(y);
                                        }

Where every element of y is computed from many of x, y can't lie where x does, and copy insertion
ends each iteration with a copy. Two iterations with x and y in each other's place need none. That
both lie at constant addresses stays true, so the body is written twice.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import SEQUENTIAL
from hlo.walk import users
from optimizer.analysis.dataflow import Value

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from optimizer.memory.buffers import Buffer, Buffers

SWAPPED_BYTES = 4096
"""Measured: an array whose copy takes so long is worth a second copy of the code. Without any, all
shortest paths take 1.6 times as long, heat 1.4 and Lorenz 1.2; of loops over smaller arrays, an
edit distance takes 0.88 with it, and five others as long."""


@dataclass(frozen=True, slots=True)
class Swap:
    """A part of a loop's state that swaps buffers.

    Attributes
    ----------
    copy : the instruction that is not needed any more.
    state, following : the buffers that are swapped: of this iteration's state and of the next
    one's.
    leaf : which part of the state it is.
    source : the value in `following`.
    """

    copy: Instruction
    state: Buffer
    following: Buffer
    leaf: int
    source: Value


def find_swaps(buffers: Buffers) -> dict[Instruction, list[Swap]]:
    """The swaps of each while, for loops whose bodies hold no other control flow.

    The buffers are kept for a swap alone as long as its loop runs.
    """
    flow = buffers.flow
    swaps: dict[Instruction, list[Swap]] = {}
    for join in flow.joins:
        loop, copy = join.target.instruction, join.source
        if join.target.kind != "state" or join.at is not loop.called[1]:
            continue
        if any(i.opcode in SEQUENTIAL for c in loop.called for i in c.instructions):
            continue
        if not isinstance(copy, Value) or copy.instruction.opcode != "copy":
            continue
        swap = _swap(buffers, loop, copy, join.target)
        taken = {b for other in swaps.get(loop, ()) for b in (other.state, other.following)}
        if swap and not taken & {swap.state, swap.following}:
            swaps.setdefault(loop, []).append(swap)
            for buffer in (swap.state, swap.following):
                _keep(buffer, flow.timeline.entry[loop], flow.timeline.time[loop])
    return swaps


def _swap(buffers: Buffers, loop: Instruction, copy: Value, state: Value) -> Swap | None:
    """The swap that does the work of a copy; None where there is none."""
    flow, body = buffers.flow, loop.called[1]
    instr = copy.instruction
    (source,) = flow.at[instr.operands[0]]
    if not isinstance(source, Value) or copy.shape.bytes < SWAPPED_BYTES:
        return None
    current, following = buffers.of[state], buffers.of[source]
    if following.fixed or following.output or current is following:
        return None
    if not _only_in(body, following, flow.timeline.home) or users(body)[instr] != [body.root]:
        return None
    # Nobody reads it after the copy: from then on it is the state.
    if max(last for _, last, _ in following.stays) > flow.timeline.time[instr]:
        return None
    return Swap(instr, current, following, state.leaf, source)


def _only_in(body: Computation, buffer: Buffer, home: dict[Instruction, Computation]) -> bool:
    return all(v.kind == "result" and home[v.instruction] is body for v in buffer.values)


def _keep(buffer: Buffer, first: int, last: int) -> None:
    """Let a buffer be needed in all moments of a loop."""
    stay = (first, last, buffer.values[0])
    buffer.stays.insert(bisect_right(buffer.stays, first, key=lambda s: s[0]), stay)
